// What was just deleted, and the way to take it back; or why it was not deleted.

import { words } from '../strings.js';
import type { UndoableDelete } from '../use-undoable-delete.js';
import { VisibleText } from './VisibleText.js';

export function UndoBar({ deletion }: { readonly deletion: UndoableDelete }) {
  const { pending, error, undo } = deletion;
  if (pending === undefined && error === undefined) return null;
  return (
    <div
      role="status"
      className="border-line bg-raised arrives flex shrink-0 items-center justify-between gap-3 border-t px-3 py-2"
    >
      {pending === undefined ? (
        <span className="text-danger">{words.deleteFailed(error ?? '')}</span>
      ) : (
        <>
          <span className="min-w-0 truncate">
            <VisibleText text={words.deletedNote(pending.title === '' ? words.header.untitled : pending.title)} />
          </span>
          <button type="button" className="btn" onClick={undo}>
            {words.undo}
          </button>
        </>
      )}
    </div>
  );
}
