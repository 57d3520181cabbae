import type { ModelMessage } from '../../../src/agent/model/types.ts';
import type { LogEntry } from '../../../src/agent/turns/log.ts';
import type { TurnView } from '../../../src/agent/turns/view.ts';
import type { AgentWorld } from '../harness/world.ts';

export const OWNER = { 'x-gatehouse-owner': 'key-1' };

export const user = (text: string) => ({ role: 'user', parts: [{ type: 'text', text }] });
export const assistant = (text: string, calls?: readonly object[]) => ({
  role: 'assistant',
  text,
  ...(calls === undefined ? {} : { calls }),
});
export const result = (callID: string, output: string) => ({ role: 'tool', callID, output });

export type Begun = { readonly outcome: 'begun' | 'joined'; readonly reader: string; readonly turn: TurnView };
export type Refused = { readonly name: string; readonly data: { readonly code: string; readonly message: string } };

/** A request to the API of turns, and its status and body. */
export const send = async (
  world: Pick<AgentWorld, 'call'>,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = OWNER,
): Promise<{ readonly status: number; readonly body: unknown }> => {
  const response = await world.call(method, `/gatehouse${path}`, body, headers);
  return { status: response.status, body: JSON.parse(await response.text()) };
};

const expecting = async (answer: ReturnType<typeof send>): Promise<unknown> => {
  const { status, body } = await answer;
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
};

export const begin = async (world: Pick<AgentWorld, 'call'>, body: object, headers = OWNER): Promise<Begun> =>
  (await expecting(send(world, 'POST', '/turns', body, headers))) as Begun;

export const refusedOf = async (answer: ReturnType<typeof send>): Promise<string> => {
  const { status, body } = await answer;
  return `${status} ${(body as Refused).data.code}`;
};

export const viewOf = async (world: Pick<AgentWorld, 'call'>, id: string): Promise<TurnView> =>
  (await expecting(send(world, 'GET', `/turns/${id}`))) as TurnView;

export const leave = async (world: Pick<AgentWorld, 'call'>, { reader, turn }: Begun, readTo?: number) =>
  (await expecting(send(world, 'POST', `/turns/${turn.id}/leave`, { reader, readTo }))) as TurnView;

export const outputOf = async (
  world: Pick<AgentWorld, 'call'>,
  id: string,
  after = 0,
): Promise<readonly LogEntry[]> => {
  const read = (await expecting(send(world, 'GET', `/turns/${id}/output?after=${after}`))) as { entries: LogEntry[] };
  return read.entries;
};

/** The texts of entries that count. */
export const textOf = (entries: readonly LogEntry[]): string => {
  const gone = new Set(entries.flatMap((entry) => (entry.type === 'withdrawn' ? [entry.partID] : [])));
  return entries.map((entry) => (entry.type === 'text' && !gone.has(entry.partID) ? entry.text : '')).join('');
};

/** Lets the clock run until a turn is not under way any more. */
export const ended = async (world: Pick<AgentWorld, 'call' | 'clock'>, id: string): Promise<TurnView> => {
  for (let tries = 0; tries < 200; tries++) {
    const view = await viewOf(world, id);
    if (!['queued', 'running'].includes(view.status)) return view;
    await world.clock.advance(20);
  }
  throw new Error('the turn does not end');
};

export type StreamEvent = { readonly event: string; readonly data: unknown; readonly id?: string };

/** The events of a stream as far as they came, and those that come next. */
export const readEvents = (response: Response) => {
  const events: StreamEvent[] = [];
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  const take = (block: string): void => {
    const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]));
    const [event, data, id] = [fields.get('event'), fields.get('data'), fields.get('id')];
    if (event !== undefined)
      events.push({ event, data: JSON.parse(data ?? 'null'), ...(id === undefined ? {} : { id }) });
  };
  const over = (async () => {
    for (;;) {
      const next = await reader?.read();
      if (next === undefined || next.done) return;
      rest += decoder.decode(next.value, { stream: true });
      const blocks = rest.split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) take(block);
    }
  })();
  return {
    events,
    over,
    cancel: () => reader?.cancel(),
    /** The turn as its first event has it. */
    begun: () => events[0]?.data as Begun,
    /** The turn as its last event has it. */
    end: () => events.at(-1)?.data as TurnView,
    entries: () => events.flatMap(({ event, data }) => (event === 'entries' ? (data as LogEntry[]) : [])),
  };
};

/** Begins a turn, and reads its stream. */
export const beginStream = async (world: Pick<AgentWorld, 'call'>, body: object, headers = OWNER) =>
  readEvents(await world.call('POST', '/gatehouse/turns', { ...body, stream: true }, headers));

/** A conversation as a model was sent it, one line for each message. */
export const linesOf = (messages: readonly ModelMessage[]): readonly string[] =>
  messages.map((message) => {
    if (message.role === 'user')
      return `user: ${message.content.map((piece) => (piece.kind === 'text' ? piece.text : piece.mime)).join(' + ')}`;
    if (message.role === 'tool')
      return `tool: ${message.results.map(({ id, output }) => `${id}=${output}`).join(', ')}`;
    const calls = message.calls.map(({ id, name, input }) => `${name}#${id}${JSON.stringify(input)}`);
    return `assistant: ${[message.text, ...calls].filter((text) => text !== '').join(' ')}`;
  });
