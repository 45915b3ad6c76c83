// The few icons of the page, drawn here: no font on the reader's machine has to know them.

const PATHS = {
  pencil: 'M3 13l.7-3L10.5 3.2a1.4 1.4 0 0 1 2 0l.3.3a1.4 1.4 0 0 1 0 2L6 12.3 3 13zM9.5 4.2l2.3 2.3',
  bin: 'M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5M6.8 7v3.8M9.2 7v3.8',
  list: 'M3 4.5h10M3 8h10M3 11.5h10',
  close: 'M4 4l8 8M12 4l-8 8',
  clip: 'M12.6 7.4l-5 5a3 3 0 0 1-4.3-4.2l5.3-5.3a2 2 0 0 1 2.9 2.8l-5.3 5.2a1 1 0 0 1-1.4-1.4l4.7-4.7',
  find: 'M7 3a4 4 0 1 1 0 8a4 4 0 1 1 0-8M10 10l3.2 3.2',
} as const;

export function Icon({ name }: { readonly name: keyof typeof PATHS }) {
  return (
    <svg aria-hidden="true" width="16" height="16" viewBox="0 0 16 16" className="shrink-0">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.3"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
