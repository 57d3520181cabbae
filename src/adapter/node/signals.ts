/** Signals that stop a program in order. SIGHUP comes from a terminal that is closed; its default ends Node at once. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
