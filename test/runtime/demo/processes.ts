import { readdirSync, readFileSync } from 'node:fs';

const environmentOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    return '';
  }
};

/** The processes that were started with this directory for temporary files: a demo, and all that it has started. */
export const processesOf = ({ temporary }: { readonly temporary: string }): readonly string[] =>
  readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && environmentOf(pid).includes(temporary));
