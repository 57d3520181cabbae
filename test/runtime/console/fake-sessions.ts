import type { IncomingMessage } from 'node:http';

/** Texts that try to be more than a text: markup, reordered lines, control characters, marks over marks, a megabyte. */
export const HOSTILE = {
  title: '<script>document.title="owned"</script>\u202egnp.exe\u0000\u001b[31m',
  text: `<img src=x onerror="document.title='owned'"> \u2066\u202edesrever\u2069 ${'Z\u0351\u036b\u0343'.repeat(50)} javascript:alert(1)`,
  large: 'A'.repeat(1_000_000),
};

const SESSIONS = 1000;
const TITLES = [
  'Top up mara for the October overrun',
  'Limits for the new team',
  'Why is account 7 not schedulable?',
  HOSTILE.title,
];
const EPOCH = Date.now();

const session = (index: number) => ({
  id: `ses_${index}`,
  slug: `s${index}`,
  projectID: 'p',
  directory: '/',
  version: '1',
  title: TITLES[index % TITLES.length] ?? '',
  cost: (index % 9) * 0.0213,
  tokens: { input: 1200 * (index % 13) + 100, output: 90 * (index % 7), reasoning: 0, cache: { read: 0, write: 0 } },
  time: { created: EPOCH - index * 3_700_000 - 400_000, updated: EPOCH - index * 3_700_000 },
});

const inMessage = (id: string, part: object) => ({
  id: `${id}_${JSON.stringify(part).length}`,
  sessionID: 's',
  messageID: id,
  ...part,
});
const messages = (index: number) => [
  {
    info: { id: 'msg_1', sessionID: 's', role: 'user', time: { created: EPOCH - 60_000 }, agent: 'build' },
    parts: [inMessage('msg_1', { type: 'text', text: 'Mara ran out of credit in October. Please add 12.5.' })],
  },
  {
    info: {
      ...{
        id: 'msg_2',
        sessionID: 's',
        role: 'assistant',
        parentID: 'msg_1',
        modelID: 'gpt-oss-120b',
        providerID: 'cloud',
      },
      time: { created: EPOCH - 55_000, completed: EPOCH - 50_000 },
    },
    parts: [
      inMessage('msg_2', {
        type: 'reasoning',
        text: 'Find the user first.',
        time: { start: EPOCH - 55_000, end: EPOCH - 54_500 },
      }),
      inMessage('msg_2', {
        type: 'tool',
        callID: 'call_1',
        tool: 'relay-admin_find_user',
        state: {
          status: 'completed',
          title: '',
          metadata: {},
          input: { email: 'mara@example.com' },
          output:
            index % TITLES.length === 3
              ? HOSTILE.large
              : '{"users":[{"id":2,"email":"mara@example.com","balance":"3.5"}]}',
          time: { start: EPOCH - 54_000, end: EPOCH - 53_740 },
        },
      }),
      inMessage('msg_2', {
        type: 'text',
        text:
          index % TITLES.length === 3
            ? HOSTILE.text
            : 'Done: 12.5 was credited to mara@example.com, and the relay has verified it.',
      }),
    ],
  },
];

/** Answers what a console reads of an agent server beside permission requests; undefined for any other path. */
export const fakeSessionAnswer = (request: IncomingMessage, titles: ReadonlyMap<string, string>): unknown => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://agent');
  if (pathname === '/session/status') return {};
  if (pathname === '/mcp')
    return { 'relay-admin': { status: 'connected' }, search: { status: 'failed', error: 'Connection closed' } };
  if (pathname === '/config')
    return {
      model: 'cloud/gpt-oss-120b',
      permission: { 'relay-admin_*': 'deny' },
      provider: { cloud: { options: { baseURL: 'https://ollama.com/v1', apiKey: '[redacted]' } } },
    };
  if (pathname === '/session') {
    const search = (searchParams.get('search') ?? '').toLowerCase();
    const before = searchParams.get('before')?.split(',').at(-1);
    const all = Array.from({ length: SESSIONS }, (_, index) => session(index)).filter(({ title }) =>
      title.toLowerCase().includes(search),
    );
    const from = before === undefined ? 0 : all.findIndex(({ id }) => id === before) + 1;
    return all.slice(from, from + Number(searchParams.get('limit') ?? 50));
  }
  const [, id = '', rest] = /^\/session\/(\w+?)(\/message)?$/.exec(pathname) ?? [];
  if (id === '') return undefined;
  const index = Number(id.replace('ses_', ''));
  if (rest !== undefined) return messages(index);
  return { ...session(index), id, title: titles.get(id) ?? 'A conversation' };
};
