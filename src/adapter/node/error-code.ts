/** The code of an error of Node (`ENOENT`); undefined when it has none. Unlike its message it names no path and no address. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
