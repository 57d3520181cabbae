import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  ErrorCode,
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
} from '@modelcontextprotocol/sdk/types.js';
import { createLineSplitter } from '../../adapter/mcp/lines.ts';
import { LEVELS_LIMIT, toMessage } from '../../adapter/mcp/messages.ts';
import { isRecord } from '../../core/json.ts';

/** The longest line, in either direction before somebody reads it. Nothing uses longer ones. */
const LINE_LIMIT_BYTES = 10 * 1024 * 1024;
const BATCH_LIMIT = 100;

const PARSE_ERROR = 'expected one JSON text a line';
const NOT_A_MESSAGE = `expected a JSON-RPC 2.0 message of at most ${LEVELS_LIMIT} levels, whose id is a text or a whole number`;
const BATCH_RULE = `expected a batch of 1 to ${BATCH_LIMIT} messages`;
const ID_IN_USE = 'this id belongs to a request that is still running';

/** An answer to what was no message. The protocol's own type has no id of null. */
type ErrorAnswer = {
  readonly jsonrpc: '2.0';
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
};
type Answer = JSONRPCMessage | ErrorAnswer;

/** The requests of one line, which are answered in one line: an array if they came in one. */
type Batch = { readonly answers: Answer[]; pending: number };

/** The id to answer to: of anything but a text or a number it is null, as JSON-RPC has it. */
const idOf = (value: unknown): string | number | null => {
  const id = isRecord(value) ? value.id : null;
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id)) ? id : null;
};

const toErrorAnswer = (code: number, message: string, id: ErrorAnswer['id'] = null): ErrorAnswer => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});

/** Whether it wants to be an answer. Those are never answered, or two peers could go on for ever. */
const isAnswer = (value: unknown): boolean =>
  isRecord(value) && value.method === undefined && (value.result !== undefined || value.error !== undefined);

const parseLine = (line: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(line) };
  } catch {
    return undefined;
  }
};

/** The id of a request that a message cancels: it gets no answer. */
const cancelledId = (message: JSONRPCMessage): unknown =>
  'method' in message && message.method === 'notifications/cancelled' ? message.params?.requestId : undefined;

/**
 * MCP over lines of JSON, as JSON-RPC 2.0 wants it: what is no JSON or no message is answered with an error (of id null where it
 * has none), and a batch with an array. The id of a running request cannot be used again, so no answer goes to the wrong one.
 */
export const createStdioTransport = ({
  input,
  output,
}: {
  readonly input: Readable;
  readonly output: Writable;
}): Transport => {
  const running = new Map<string | number, Batch | undefined>();
  let isClosed = false;

  const write = (answer: Answer | readonly Answer[]): Promise<void> =>
    new Promise((resolve) => {
      if (output.write(`${JSON.stringify(answer)}\n`)) resolve();
      else output.once('drain', resolve);
    });
  const finish = (batch: Batch): Promise<void> =>
    batch.pending === 0 && batch.answers.length > 0 ? write(batch.answers) : Promise.resolve();
  /** Answers what is wrong. A sender that goes on and reads no answer is cut off. */
  const refuse = (answer: ErrorAnswer, batch?: Batch): void => {
    transport.onerror?.(new Error('Not a message'));
    if (batch !== undefined) batch.answers.push(answer);
    else if (output.writableLength > LINE_LIMIT_BYTES) void transport.close();
    else void write(answer);
  };
  const receive = (value: unknown, batch?: Batch): void => {
    const message = toMessage(value);
    if (message === undefined) {
      if (isAnswer(value)) transport.onerror?.(new Error('Not a message'));
      else refuse(toErrorAnswer(ErrorCode.InvalidRequest, NOT_A_MESSAGE, idOf(value)), batch);
      return;
    }
    if (isJSONRPCRequest(message)) {
      if (running.has(message.id)) {
        refuse(toErrorAnswer(ErrorCode.InvalidRequest, ID_IN_USE, message.id), batch);
        return;
      }
      running.set(message.id, batch);
      if (batch !== undefined) batch.pending += 1;
    }
    try {
      transport.onmessage?.(message);
    } catch {
      // An error of the SDK ends the connection in order, not the process.
      void transport.close();
      return;
    }
    const cancelled = cancelledId(message);
    if (typeof cancelled === 'string' || typeof cancelled === 'number') settle(cancelled);
  };
  /** Ends a request, with its answer or without one. */
  const settle = (id: string | number, answer?: JSONRPCMessage): Promise<void> => {
    const batch = running.get(id);
    running.delete(id);
    if (batch === undefined) return answer === undefined ? Promise.resolve() : write(answer);
    if (answer !== undefined) batch.answers.push(answer);
    batch.pending -= 1;
    return finish(batch);
  };
  const receiveBatch = (items: readonly unknown[]): void => {
    // One more than its requests, until all of them are known: an early answer must not end the batch.
    const batch: Batch = { answers: [], pending: 1 };
    for (const item of items) receive(item, batch);
    batch.pending -= 1;
    void finish(batch);
  };
  const receiveLine = (line: string): void => {
    if (isClosed || line.trim() === '') return;
    const parsed = parseLine(line);
    if (parsed === undefined) refuse(toErrorAnswer(ErrorCode.ParseError, PARSE_ERROR));
    else if (!Array.isArray(parsed.value)) receive(parsed.value);
    else if (parsed.value.length === 0 || parsed.value.length > BATCH_LIMIT)
      refuse(toErrorAnswer(ErrorCode.InvalidRequest, BATCH_RULE));
    else receiveBatch(parsed.value);
  };
  const splitLines = createLineSplitter(LINE_LIMIT_BYTES, receiveLine);
  const receiveChunk = (chunk: Buffer): void => {
    if (!splitLines(chunk)) void transport.close();
  };
  const reportInputError = (error: Error): void => transport.onerror?.(error);

  const transport: Transport = {
    async start() {
      input.on('data', receiveChunk);
      input.on('error', reportInputError);
    },
    send(message) {
      const isResponse = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
      return isResponse && message.id !== undefined && running.has(message.id)
        ? settle(message.id, message)
        : write(message);
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      input.off('data', receiveChunk);
      input.pause();
      transport.onclose?.();
    },
  };
  return transport;
};
