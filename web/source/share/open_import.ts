// Opens the dialog of import, empty or with a file that was dropped.

import { ImportDialog } from './import_dialog.js';
import { type Host, show } from './open.js';

export async function openImport(host: Host, file?: File): Promise<void> {
  const made = show(host, (redraw, close) => new ImportDialog(host, redraw, close));
  await made.readFile(file);
}
