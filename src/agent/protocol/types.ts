import type { Finish, MessageError, MessageTokens } from '../message.ts';

type Placed = { readonly id: string; readonly sessionID: string; readonly messageID: string };
type Input = Readonly<Record<string, unknown>>;

export type TextPart = Placed & {
  readonly type: 'text';
  readonly text: string;
  readonly synthetic?: boolean;
  readonly time?: { readonly start: number; readonly end?: number };
};
export type ReasoningPart = Placed & {
  readonly type: 'reasoning';
  readonly text: string;
  readonly time: { readonly start: number; readonly end?: number };
};
export type FilePart = Placed & {
  readonly type: 'file';
  readonly mime: string;
  readonly filename?: string;
  /** A `data:` URL. */
  readonly url: string;
};

export type ToolState =
  | { readonly status: 'pending'; readonly input: Input; readonly raw: string }
  | {
      readonly status: 'running';
      readonly input: Input;
      readonly title?: string;
      readonly metadata?: Input;
      readonly time: { readonly start: number };
    }
  | {
      readonly status: 'completed';
      readonly input: Input;
      readonly output: string;
      readonly title: string;
      readonly metadata: Input;
      readonly time: { readonly start: number; readonly end: number };
    }
  | {
      readonly status: 'error';
      readonly input: Input;
      readonly error: string;
      readonly metadata?: Input;
      readonly time: { readonly start: number; readonly end: number };
    };

export type ToolPart = Placed & {
  readonly type: 'tool';
  readonly callID: string;
  readonly tool: string;
  readonly state: ToolState;
};
export type StepStartPart = Placed & { readonly type: 'step-start' };
export type StepFinishPart = Placed & {
  readonly type: 'step-finish';
  readonly reason: Finish;
  readonly cost: number;
  readonly tokens: MessageTokens;
};
export type RetryPart = Placed & {
  readonly type: 'retry';
  readonly attempt: number;
  readonly error: MessageError;
  readonly time: { readonly created: number };
};
export type CompactionPart = Placed & { readonly type: 'compaction'; readonly auto: boolean };

/** A piece of a message, as it is stored and as the wire shows it. */
export type Part =
  | TextPart
  | ReasoningPart
  | FilePart
  | ToolPart
  | StepStartPart
  | StepFinishPart
  | RetryPart
  | CompactionPart;
