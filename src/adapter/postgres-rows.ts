import type { PlacedEvent, SessionOutline } from '../agent/store/store.ts';
import { directoryIn, draftIn, type Row, textIn } from './stored-rows.ts';

/** The driver gives every column as a text. */
export const sessionOutlineIn = (row: Row): SessionOutline => ({
  id: textIn(row, 'id'),
  ...(row.parent_id === null ? {} : { parentID: textIn(row, 'parent_id') }),
  updatedMs: Number(textIn(row, 'updated')),
});

/** An event with its id and its directory. */
export const eventIn = (row: Row): PlacedEvent => ({
  directory: directoryIn(row),
  event: { ...draftIn(row), id: textIn(row, 'id') },
});
