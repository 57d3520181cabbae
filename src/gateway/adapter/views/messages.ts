import type { Views } from '../../text/decode.ts';

/** What the thread is sent: a text, or, without one, that its views are no longer wanted. */
export type ThreadQuestion = { readonly id: number; readonly text?: string; readonly owner?: string };

/**
 * What the thread answers to each text: its views, or what was thrown, or neither where they were no longer wanted. Its first
 * message has no id: the thread has started.
 */
export type ThreadAnswer = { readonly id?: number; readonly views?: Views; readonly error?: unknown };
