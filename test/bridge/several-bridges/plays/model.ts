import type { ModelRequest } from '../../../../src/agent/model/types.ts';
import type { Store } from '../../../../src/agent/store/store.ts';
import { pause } from '../../../../src/core/async.ts';
import { calling, outcome, replying, type Script, toolNamed, type WorldGiven } from '../../../agent/harness/world.ts';
import { linesOf } from '../../../agent/turns/world.ts';
import type { Arena, ArenaServer } from './arena.ts';
import { TRIES } from './client.ts';

/** What a model was asked: the words of the user, and whether it was after the result of a call. */
type Ask = { readonly place: string; readonly words: string; readonly isGone: () => boolean };

/** Texts alone: calls of tools and their results are left out. */
const textsTo = ({ messages }: ModelRequest): readonly string[] =>
  linesOf(messages).filter((line) => !line.startsWith('tool: ') && !line.includes('#'));
const wordsOf = (lines: readonly string[]): string =>
  (lines.findLast((line) => line.startsWith('user: ')) ?? '').slice('user: '.length);
/** Words begin with who sends them. */
const ownerOf = (line: string): string | undefined => /^(?:user: |assistant: re )(one|other) /.exec(line)?.[1];

const never = (): Promise<never> => new Promise(() => {});

/** The words of the prompts that are owed an answer. */
const owedIn = async (store: Store): Promise<readonly string[]> => {
  const owed = await store.owed();
  const prompts = await Promise.all(owed.map(({ sessionID, promptID }) => store.message(sessionID, promptID)));
  return prompts.flatMap((prompt) =>
    (prompt?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])),
  );
};

/** The model and the tools of a play, which know what they were asked and find what was mixed up. */
export const createPlayModel = ({ clock, slowMs, isExact }: Arena) => {
  const asks: Ask[] = [];
  const paid: string[] = [];
  /** Words whose turns were cut off with their servers: they may be asked once more for each. */
  const cutOff: string[] = [];
  /** Words of clients who ask in one conversation at once: the next one ends a turn whose client has left, which then asks again. */
  const contested: string[] = [];
  const expectedOf = new Map<string, readonly string[]>();
  const settled = new Set<string>();
  let hasKills = false;
  const mixedUp: unknown[] = [];
  const scriptOf = (isGone: () => boolean): Script =>
    async function* (request, signal) {
      if (isGone()) await never();
      const lines = textsTo(request);
      const words = wordsOf(lines);
      const hasResult = request.messages.at(-1)?.role === 'tool';
      asks.push({ place: `${words}${hasResult ? ' after its result' : ''}`, words, isGone });
      const expected = expectedOf.get(words);
      // In a conversation with a name, a question stays whose turn was cut off, and is asked again after it.
      const read = lines.filter((line, at) => line !== lines[at - 1] || !hasKills);
      if (expected !== undefined && JSON.stringify(read) !== JSON.stringify(expected))
        mixedUp.push({ lines, expected });
      const owners = new Set(lines.flatMap((line) => ownerOf(line) ?? []));
      if (owners.size > 1) mixedUp.push({ lines, owners: [...owners] });
      if (words.includes('slow')) await pause(clock, slowMs, signal);
      if (words.includes('call') && !hasResult)
        yield* calling({ name: 'weather', input: { city: words } })(request, signal);
      else if (words.includes('pay') && !hasResult) yield* calling({ name: 'pay', input: { words } })(request, signal);
      else yield* replying('re ', words)(request, signal);
    };
  return {
    paid: paid as readonly string[],
    mixedUp: mixedUp as readonly unknown[],
    expect: (words: string, lines: readonly string[]): void => void expectedOf.set(words, lines),
    contest: (words: string): void => void contested.push(words),
    isCutOff: (words: string): boolean => cutOff.includes(words),
    given(isGone: () => boolean): WorldGiven {
      const pay = toolNamed('pay', async (input) => {
        if (isGone()) await never();
        paid.push((input as { readonly words: string }).words);
        return outcome('paid');
      });
      return {
        ...{ scripts: [scriptOf(isGone)], titler: null, tools: [pay] },
        rules: [
          { permission: '*', pattern: '*', action: 'allow' },
          { permission: 'pay', pattern: '*', action: 'ask' },
        ],
      };
    },
    /** Its client has had the answer. */
    settle: (words: string): void => void settled.add(words),
    /** To be called when a server was killed: what it was asked, and has not answered, is cut off. */
    async noteKilled({ isGone }: ArenaServer, store: Store): Promise<void> {
      hasKills = true;
      const killed = asks.filter((ask) => ask.isGone === isGone && !settled.has(ask.words));
      const words = new Set(killed.map((ask) => ask.words));
      const open = isExact ? await owedIn(store) : [...words];
      cutOff.push(...open.filter((one) => words.has(one)));
    },
    /** What ran more often than it may. */
    repeated(): readonly string[] {
      const times = new Map<string, number>();
      for (const { place } of asks) times.set(place, (times.get(place) ?? 0) + 1);
      const allowed = (place: string): number =>
        contested.includes(place) ? TRIES : 1 + cutOff.filter((words) => place.startsWith(words)).length;
      return [
        ...[...times].flatMap(([place, count]) => (count > allowed(place) ? [`${place}: asked ${count} times`] : [])),
        ...paid.filter((words, at) => paid.indexOf(words) !== at).map((words) => `${words}: paid again`),
      ];
    },
  };
};
