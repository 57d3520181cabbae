/** The thread's program as one text, which the build writes here; undefined in sources, where the thread runs its file. */
export const THREAD_CODE: string | undefined = undefined;
