// The keyboard at a glance.

import { words } from '../strings.js';
import { Dialog } from './Dialog.js';

export function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title={words.help.title} onClose={onClose} className="w-[420px]">
      <table className="w-full">
        <tbody>
          {words.help.rows.map(([keys, what]) => (
            <tr key={keys}>
              <th scope="row" className="py-0.5 pr-4 text-left font-normal whitespace-nowrap">
                <kbd>{keys}</kbd>
              </th>
              <td className="text-muted py-0.5">{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
