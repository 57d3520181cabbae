// Prints the notes of a release: its section of CHANGELOG.md. node release/notes.mjs 0.1.0
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** The section of a version, without its heading. Undefined when there is none, it has no date, or nothing stands in it. */
export const sectionOf = (changelog, version) => {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.startsWith(`[${version}] - `));
  if (section === undefined || !/^\[[^\]]+\] - \d{4}-\d\d-\d\d\n/.test(section)) return undefined;
  const body = section.slice(section.indexOf('\n')).trim();
  return body === '' ? undefined : `${body}\n`;
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [version = ''] = process.argv.slice(2);
  const notes = sectionOf(readFileSync('CHANGELOG.md', 'utf8'), version);
  if (notes === undefined) {
    process.stderr.write(`CHANGELOG.md: expected a section "## [${version}] - YYYY-MM-DD" with something in it\n`);
    process.exitCode = 1;
  } else process.stdout.write(notes);
}
