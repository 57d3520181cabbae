import { fileURLToPath } from 'node:url';

/** The directory from which the npm package `openai` can be imported: a clone, or a project that has it. */
export const openaiDirectory = (): string | undefined => {
  try {
    const [directory] = fileURLToPath(import.meta.resolve('openai')).split(/[\\/]node_modules[\\/]openai[\\/]/);
    return directory;
  } catch {
    return undefined;
  }
};
