import * as assert from 'uvu/assert';
import type { AgentEventRecord } from '../../../src/bridge/agent/schema.ts';
import { createTurnLog } from '../../../src/bridge/turn/log.ts';
import { createTurnReducer } from '../../../src/bridge/turn/reducer.ts';
import { describe } from '../../check.ts';
import {
  assistantInfo,
  broken,
  completed,
  done,
  itemsIn,
  more,
  otherPart,
  PENDING,
  record,
  reported,
  running,
  shown,
  textEventsIn,
  textPart,
  thoughtPart,
  tokensOf,
  toolPart,
  userInfo,
} from '../harness/turn-events.ts';

const transcribe = (earlier: readonly string[] = [], own?: Parameters<typeof createTurnReducer>[2]) => {
  const writer = createTurnLog();
  const transcript = createTurnReducer(writer, new Set(earlier), own);
  const take = (...events: readonly (AgentEventRecord | readonly AgentEventRecord[])[]): void => {
    for (const event of events.flat()) transcript.applyEvent(event);
  };
  return { ...transcript, log: writer.log, take, items: () => itemsIn(writer.log) };
};
type Transcribed = ReturnType<typeof transcribe>;

/** What the agent tells at the start of a turn: the user's message with its words, and an answer that begins. */
const START: readonly AgentEventRecord[] = [
  reported(userInfo('u1')),
  shown(textPart('p1', 'u1', 'Pay five')),
  reported(assistantInfo('a1', 'u1')),
];
const ASKED = record(userInfo('u1'), textPart('p1', 'u1', 'Pay five'));

const started = (): Transcribed => {
  const turn = transcribe();
  turn.take(START);
  return turn;
};

describe('an answer as events show it', (check) => {
  check('is what the agent says, and not what the user has said', () => {
    const turn = started();
    turn.take(textEventsIn('t1', 'a1', 'Let me', ' see'));
    turn.take(shown(textPart('p1', 'u1', 'Pay five, with care')), reported(userInfo('u1')));
    turn.take(shown(textPart('p2', 'u1', 'put in by a plugin')), more('p2', 'u1', ' late'));
    assert.equal(turn.items(), ['text: Let me see']);
    assert.is(turn.promptID(), 'u1');
  });

  check('holds the thoughts and the calls, and every step of the turn', () => {
    const turn = started();
    turn.take(
      shown(thoughtPart('r1', 'a1', '')),
      more('r1', 'a1', 'Hm'),
      shown(thoughtPart('r1', 'a1', 'Hm', { isOver: true })),
      textEventsIn('t1', 'a1', 'I look.'),
      shown(toolPart('c1', 'a1', PENDING)),
      shown(toolPart('c1', 'a1', running({ page: 1 }))),
      shown(toolPart('c1', 'a1', done('five', { page: 1 }))),
      shown(otherPart('o1', 'a1')),
      reported(completed('a1', 'u1', { finish: 'tool-calls' })),
    );
    assert.ok(turn.isComplete('a1'));
    turn.take(reported(assistantInfo('a2', 'u1')), textEventsIn('t2', 'a2', 'Five', ' users.'));
    assert.not.ok(turn.isComplete('a2') || turn.isComplete('a3'));
    assert.equal(turn.items(), ['reasoning: Hm', 'text: I look.', 'call look {"page":1}: five', 'text: Five users.']);
    assert.is(turn.lastAnswer()?.id, 'a2');
    assert.ok(turn.hasAnswer('a1') && !turn.hasAnswer('u1'));
  });

  check('shows a call once it has its arguments, and its outcome, whichever that is', () => {
    const turn = started();
    turn.take(shown(toolPart('c1', 'a1', PENDING)));
    assert.equal(turn.items(), []);
    turn.take(shown(toolPart('c1', 'a1', running({ page: 2 }))), shown(toolPart('c2', 'a1', broken('no such page'))));
    assert.equal(turn.items(), ['call look {"page":2}: ...', 'call look {}: failed no such page']);
    turn.take(shown(toolPart('c1', 'a1', done('x'.repeat(70_000), { text: 'y'.repeat(70_000) }))));
    const [call] = turn.log.items();
    assert.is(call?.kind === 'call' && call.call.input.length, 65_536);
    assert.is(call?.kind === 'call' && call.result?.output.length, 65_536);
    turn.take(shown(toolPart('c2', 'a1', running())));
    assert.match(turn.items()[1] ?? '', 'no such page');
  });

  check('shows no call of an attempt that counts for nothing', () => {
    const turn = started();
    turn.take(shown(toolPart('c1', 'a1', broken('The step was begun anew', { metadata: { withdrawn: true } }))));
    assert.equal(turn.items(), []);
    turn.take(shown(toolPart('c2', 'a1', broken('no', { metadata: { withdrawn: false } }))));
    assert.is(turn.items().length, 1);
  });

  check('leaves out what is not meant to be read', () => {
    const turn = started();
    turn.take(shown(textPart('h1', 'a1', 'hidden', { synthetic: true })), more('h1', 'a1', ' too'));
    turn.take(shown(textPart('h2', 'a1', 'hidden', { ignored: true })));
    turn.applySnapshot([ASKED, record(assistantInfo('a1', 'u1'), textPart('h3', 'a1', 'x', { synthetic: true }))]);
    assert.equal(turn.items(), []);
  });

  check('takes a delta of nothing but a text, and of none that was not begun', () => {
    const turn = started();
    turn.take(more('t1', 'a1', 'lost'), shown(textPart('t1', 'a1', '')), more('t1', 'a1', 'no', 'metadata'));
    turn.take(more('t1', 'a1', 'Yes'));
    assert.equal(turn.items(), ['text: Yes']);
    turn.take(shown(textPart('t1', 'a1', 'Yes', { isOver: true })), more('t1', 'a1', ' and no'));
    assert.equal(turn.items(), ['text: Yes']);
  });

  check('goes on when its backend is asked again', () => {
    const turn = started();
    turn.take(textEventsIn('t1', 'a1', 'Five', ' us'), shown(textPart('t1', 'a1', '', { isOver: true })));
    turn.take(textEventsIn('t2', 'a1', 'Five ', 'users.'));
    assert.equal(turn.items(), ['text: Five users.']);
  });

  check('begins a text anew where its events say so', () => {
    const turn = started();
    turn.take(shown(textPart('t1', 'a1', '')), more('t1', 'a1', 'Five us'), shown(textPart('t1', 'a1', '')));
    turn.take(more('t1', 'a1', 'Six'), shown(textPart('t1', 'a1', 'Six', { isOver: true })));
    assert.equal(turn.items(), ['text: Five us\n\nSix']);
  });

  check('ends a text with its message', () => {
    const turn = started();
    turn.take(textEventsIn('t1', 'a1', 'Five'));
    const isDone = () => turn.log.items().every((item) => item.kind !== 'call' && item.isDone);
    assert.not.ok(isDone());
    turn.take(reported(completed('a1', 'u1')));
    assert.ok(isDone());
  });

  check('is nothing of another turn', () => {
    const turn = transcribe(['u0']);
    turn.take(reported(userInfo('u0')), reported(completed('a0', 'u0')), textEventsIn('t0', 'a0', 'Old'));
    assert.is(turn.promptID(), undefined);
    turn.take(START, reported(userInfo('u0')), shown(textPart('p0', 'u0', 'put in', { synthetic: true })));
    turn.take(reported(completed('a0', 'u0')), textEventsIn('t0', 'a0', 'Old'));
    turn.take(reported(userInfo('u2')), shown(textPart('p9', 'u2', 'Else')), reported(assistantInfo('a9', 'u2')));
    turn.take(textEventsIn('t9', 'a9', 'Other'), textEventsIn('t1', 'a1', 'Mine'));
    assert.equal([turn.items(), turn.promptID()], [['text: Mine'], 'u1']);
    assert.is(turn.lastAnswer()?.id, 'a1');
  });
});

describe('the cost of an answer', (check) => {
  check('is that of all its steps, as the agent reported it last', () => {
    const turn = started();
    turn.take(
      reported(assistantInfo('a1', 'u1', { tokens: tokensOf(1, 1) })),
      reported(completed('a1', 'u1', { tokens: tokensOf(70, 15, 5, 30, 2) })),
      reported(assistantInfo('a1', 'u1', { tokens: tokensOf(0, 0) })),
      reported(assistantInfo('a2', 'u1')),
      reported(completed('a2', 'u1', { tokens: tokensOf(10, 1, 0, 5) })),
      reported(completed('a9', 'u9', { tokens: tokensOf(1000, 1000) })),
    );
    assert.equal(turn.log.usage(), { prompt: 117, cached: 35, cacheWritten: 2, completion: 21, reasoning: 5 });
  });
});

/** What the agent puts in to make room: it asks for a summary, is given it, and tells itself to go on. */
const summing = (): readonly AgentEventRecord[] => [
  reported(userInfo('u7')),
  shown(otherPart('p7', 'u7')),
  reported(assistantInfo('a7', 'u7', { summary: true })),
  ...textEventsIn('t7', 'a7', 'What was said so far'),
  reported(completed('a7', 'u7', { summary: true, tokens: tokensOf(500, 50) })),
  reported(userInfo('u8')),
  shown(textPart('p8', 'u8', 'Continue', { synthetic: true })),
];

describe('an answer in the middle of which the conversation is summed up', (check) => {
  check('goes on after it, and is not the summary', () => {
    const turn = started();
    turn.take(reported(completed('a1', 'u1', { tokens: tokensOf(1, 1) })), summing());
    turn.take(reported(assistantInfo('a2', 'u8')), textEventsIn('t2', 'a2', 'Five users.'));
    turn.take(reported(completed('a2', 'u8', { tokens: tokensOf(2, 2) })));
    assert.equal([turn.items(), turn.promptID()], [['text: Five users.'], 'u1']);
    assert.is(turn.log.usage().prompt, 3);
    turn.setPrompt('u8');
    assert.is(turn.promptID(), 'u1');
  });

  check('holds no summary, whatever that is said to answer', () => {
    const turn = started();
    turn.take(reported(assistantInfo('a7', 'u1', { summary: true })), textEventsIn('t7', 'a7', 'What was said'));
    turn.applySnapshot([
      ASKED,
      record(completed('a8', 'u1', { summary: true }), textPart('t8', 'a8', 'What was said')),
    ]);
    assert.equal(turn.items(), []);
  });

  check('is read from a list in the same way', () => {
    const turn = transcribe(['u0']);
    turn.applySnapshot([
      record(userInfo('u0'), textPart('p0', 'u0', 'Hello')),
      record(completed('a0', 'u0'), textPart('t0', 'a0', 'Hi')),
      ASKED,
      record(completed('a1', 'u1'), textPart('t1', 'a1', 'I look.')),
      record(userInfo('u7'), otherPart('p7', 'u7')),
      record(completed('a7', 'u7', { summary: true }), textPart('t7', 'a7', 'What was said')),
      record(userInfo('u8'), textPart('p8', 'u8', 'Continue', { synthetic: true })),
      record(completed('a2', 'u8'), textPart('t2', 'a2', 'Five users.')),
    ]);
    assert.equal([turn.items(), turn.promptID()], [['text: I look.', 'text: Five users.'], 'u1']);
  });

  check('does not go on with what somebody else has asked with a file', () => {
    const turn = started();
    turn.take(reported(userInfo('u2')), shown(textPart('p2', 'u2', 'the file', { synthetic: true })));
    turn.take(shown(textPart('p3', 'u2', 'Read it')), shown(textPart('p4', 'u2', 'more', { synthetic: true })));
    turn.take(reported(assistantInfo('a2', 'u2')), textEventsIn('t2', 'a2', 'Read.'));
    turn.applySnapshot([
      ASKED,
      record(userInfo('u2'), textPart('p2', 'u2', 'file', { synthetic: true }), textPart('p3', 'u2', 'Read it')),
      record(completed('a2', 'u2'), textPart('t2', 'a2', 'Read.')),
    ]);
    assert.equal(turn.items(), []);
  });

  check('is not begun by what an earlier one has put in', () => {
    const turn = transcribe(['u0']);
    turn.noteGap();
    turn.applySnapshot([
      record(userInfo('u0'), textPart('p0', 'u0', 'Hello')),
      record(userInfo('u8'), textPart('p8', 'u8', 'Continue', { synthetic: true })),
      record(completed('a0', 'u8'), textPart('t0', 'a0', 'Old')),
    ]);
    assert.equal([turn.items(), turn.promptID()], [[], undefined]);
    turn.take(START, textEventsIn('t1', 'a1', 'New'));
    assert.equal(turn.items(), ['text: New']);
    turn.applySnapshot([
      record(userInfo('u8'), textPart('p8', 'u8', 'Continue', { synthetic: true })),
      record(completed('a0', 'u8'), textPart('t0', 'a0', 'Old')),
      ASKED,
    ]);
    assert.equal(turn.items(), ['text: New']);
  });
});

describe('a list of messages', (check) => {
  const listed = (text: string, flags: object = {}, info = assistantInfo('a1', 'u1')) => [
    ASKED,
    record(info, textPart('t1', 'a1', text, flags)),
  ];

  check('that is older than the events takes nothing back', () => {
    const turn = started();
    turn.take(shown(textPart('t1', 'a1', '')), more('t1', 'a1', 'Five us'));
    turn.applySnapshot(listed('Fi'));
    turn.take(more('t1', 'a1', 'ers'));
    assert.equal(turn.items(), ['text: Five users']);
    turn.take(shown(toolPart('c1', 'a1', done('seen'))), reported(completed('a1', 'u1', { tokens: tokensOf(1, 1) })));
    turn.applySnapshot([ASKED, record(assistantInfo('a1', 'u1'), toolPart('c1', 'a1', running()))]);
    assert.is(turn.items()[1], 'call look {}: seen');
    assert.ok(turn.isComplete('a1'));
    assert.is(turn.log.usage().prompt, 1);
  });

  check('that is newer than the events is not reported again by them', () => {
    const turn = started();
    turn.applySnapshot(listed('Five us'));
    turn.take(textEventsIn('t1', 'a1', 'Fi', 've', ' users', '.'));
    assert.equal(turn.items(), ['text: Five users.']);
    const over = started();
    over.applySnapshot(listed('Five users.', { isOver: true }));
    over.take(textEventsIn('t1', 'a1', 'Fi', 've', ' users', '.'));
    assert.equal(over.items(), ['text: Five users.']);
  });

  check('that knows of a retry earlier than the events is not reported again by them', () => {
    const turn = started();
    turn.take(textEventsIn('t1', 'a1', 'Five'));
    const emptied = textPart('t1', 'a1', '', { isOver: true });
    turn.applySnapshot([ASKED, record(assistantInfo('a1', 'u1'), emptied, textPart('t2', 'a1', 'Fi'))]);
    turn.take(shown(emptied), textEventsIn('t2', 'a1', 'Five ', 'users.'));
    assert.equal(turn.items(), ['text: Five users.']);
  });

  check('does not take back what its events begin anew', () => {
    const turn = started();
    turn.take(shown(textPart('t1', 'a1', '')), more('t1', 'a1', 'Five users'), shown(textPart('t1', 'a1', '')));
    turn.take(more('t1', 'a1', 'Six'));
    turn.applySnapshot(listed('Five users'));
    turn.take(more('t1', 'a1', ' users'));
    assert.equal(turn.items(), ['text: Five users\n\nSix users']);
  });

  check('brings what no event has reported', () => {
    const turn = transcribe();
    turn.applySnapshot([
      ASKED,
      record(
        completed('a1', 'u1', { tokens: tokensOf(1, 2) }),
        thoughtPart('r1', 'a1', 'Hm', { isOver: true }),
        textPart('t1', 'a1', 'I look.'),
        toolPart('c1', 'a1', done('five')),
      ),
      record(completed('a2', 'u1'), textPart('t2', 'a2', 'Five.')),
    ]);
    assert.equal(turn.items(), ['reasoning: Hm', 'text: I look.', 'call look {}: five', 'text: Five.']);
    assert.equal([turn.lastAnswer()?.id, turn.isComplete('a2'), turn.log.usage().completion], ['a2', true, 2]);
    assert.ok(turn.log.items().every((item) => item.kind === 'call' || item.isDone));
  });

  check('of a session in which the prompt is not yet shows nothing of earlier turns', () => {
    const turn = transcribe(['u0']);
    turn.applySnapshot([record(userInfo('u0')), record(completed('a0', 'u0'), textPart('t0', 'a0', 'Old'))]);
    assert.equal([turn.items(), turn.promptID()], [[], undefined]);
  });

  check('finds the newest prompt of those that are not known', () => {
    const turn = transcribe();
    turn.applySnapshot([
      record(userInfo('u0'), textPart('p0', 'u0', 'Hello')),
      record(completed('a0', 'u0'), textPart('t0', 'a0', 'Old')),
      ASKED,
    ]);
    assert.equal([turn.items(), turn.promptID()], [[], 'u1']);
  });

  check('is read by the prompt that the answer names, where the events were of another', () => {
    const turn = transcribe();
    turn.take(
      reported(userInfo('u9')),
      reported(userInfo('u1')),
      reported(assistantInfo('a1', 'u1')),
      textEventsIn('t1', 'a1', 'x'),
    );
    assert.equal(turn.items(), []);
    turn.setPrompt('u1');
    turn.applySnapshot(listed('Five.', { isOver: true }));
    assert.equal([turn.items(), turn.promptID()], [['text: Five.'], 'u1']);
  });
});

describe('an answer of which events were lost', (check) => {
  check('believes of a text only the whole of it from then on', () => {
    const turn = started();
    turn.take(shown(textPart('t1', 'a1', '')), more('t1', 'a1', 'Fi'));
    turn.noteGap();
    turn.take(more('t1', 'a1', ' users'));
    turn.applySnapshot([ASKED, record(assistantInfo('a1', 'u1'), textPart('t1', 'a1', 'Five'))]);
    turn.take(more('t1', 'a1', ' of them'));
    assert.equal(turn.items(), ['text: Five']);
    turn.take(shown(textPart('t1', 'a1', 'Five users of them', { isOver: true })));
    assert.equal(turn.items(), ['text: Five users of them']);
  });

  check('waits with what comes after for what was before', () => {
    const turn = started();
    turn.noteGap();
    turn.take(reported(assistantInfo('a2', 'u1')), textEventsIn('t2', 'a2', 'Five', ' users.'));
    assert.equal(turn.items(), []);
    turn.applySnapshot([
      ASKED,
      record(completed('a1', 'u1'), textPart('t1', 'a1', 'I look.')),
      record(assistantInfo('a2', 'u1'), textPart('t2', 'a2', 'Fiv')),
    ]);
    assert.equal(turn.items(), ['text: I look.', 'text: Five users.']);
    turn.take(reported(assistantInfo('a3', 'u1')), textEventsIn('t3', 'a3', 'At once'));
    assert.is(turn.items().length, 3);
  });

  check('goes on when its backend is asked again meanwhile', () => {
    const turn = started();
    turn.noteGap();
    turn.take(shown(textPart('t1', 'a1', '', { isOver: true })), textEventsIn('t2', 'a1', 'Five ', 'users.'));
    turn.applySnapshot([ASKED, record(assistantInfo('a1', 'u1'), textPart('t1', 'a1', 'Five', { isOver: true }))]);
    assert.equal(turn.items(), ['text: Five users.']);
  });

  check('ends a text that a list knew in whole, once an event says that it is over', () => {
    const turn = started();
    turn.noteGap();
    turn.applySnapshot([ASKED, record(assistantInfo('a1', 'u1'), textPart('t1', 'a1', 'I look.'))]);
    turn.take(shown(textPart('t1', 'a1', 'I look.', { isOver: true })), shown(toolPart('c1', 'a1', running())));
    const [text] = turn.log.items();
    assert.ok(text?.kind === 'text' && text.isDone);
  });

  check('forgets what came between two losses', () => {
    const turn = started();
    turn.noteGap();
    turn.take(shown(textPart('t1', 'a1', '')), more('t1', 'a1', 'One'));
    turn.noteGap();
    turn.take(more('t1', 'a1', ' four'));
    turn.applySnapshot([ASKED, record(assistantInfo('a1', 'u1'), textPart('t1', 'a1', 'One two three'))]);
    assert.equal(turn.items(), ['text: One two three']);
  });
});

describe('the prompt of a turn among those of other bridges', (check) => {
  const promptOf = (id: string, token?: string) => {
    const metadata = token === undefined ? undefined : { gatehouse: { token } };
    return { info: userInfo(id), part: { ...textPart(`p-${id}`, id, 'Pay five'), metadata } };
  };
  const foreign = promptOf('u1', 'theirs');
  const own = promptOf('u2', 'ours');
  const answered = (id: string): readonly AgentEventRecord[] => [
    reported(assistantInfo(`a-${id}`, id)),
    ...textEventsIn(`t-${id}`, `a-${id}`, `answer to ${id}`),
  ];
  const said = ({ info, part }: typeof own): readonly AgentEventRecord[] => [reported(info), shown(part)];
  const ANSWER = ['text: answer to u2'];

  for (const isKept of [true, false]) {
    check(`is known by its token in events${isKept ? '' : ' of a server that may keep none'}`, () => {
      const turn = transcribe([], { token: 'ours', isKept });
      turn.take(said(foreign), answered('u1'), said(own), answered('u2'));
      assert.equal(turn.items(), ANSWER);
      assert.is(turn.promptID(), 'u2');
    });
    check(`is known by its token in a list${isKept ? '' : ' of a server that may keep none'}`, () => {
      const turn = transcribe([], { token: 'ours', isKept });
      turn.applySnapshot([record(foreign.info, foreign.part), record(own.info, own.part)]);
      turn.take(answered('u1'), answered('u2'));
      assert.equal(turn.items(), ANSWER);
    });
  }
  check('is not there yet where only that of another bridge is', () => {
    const turn = transcribe([], { token: 'ours', isKept: false });
    turn.take(said(foreign), answered('u1'));
    turn.applySnapshot([record(foreign.info, foreign.part)]);
    assert.is(turn.promptID(), undefined);
    assert.equal(turn.items(), []);
  });
  check('is never one without a token where tokens are kept, and else the first of them', () => {
    const plain = promptOf('u2');
    const isPromptOf = (isKept: boolean) => {
      const turn = transcribe([], { token: 'ours', isKept });
      turn.take(said(plain));
      turn.applySnapshot([record(plain.info, plain.part)]);
      return turn.promptID();
    };
    assert.equal([isPromptOf(true), isPromptOf(false)], [undefined, 'u2']);
  });
});
