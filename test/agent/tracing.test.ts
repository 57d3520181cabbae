import * as assert from 'uvu/assert';
import { type ChatModel, ModelError } from '../../src/agent/model/types.ts';
import type { AgentTool } from '../../src/agent/tools/tool.ts';
import type { BeginSpan, TraceContext } from '../../src/core/http/tracing.ts';
import {
  CALLER,
  CALLERS_TRACEPARENT,
  type CollectedSpan,
  startCollector,
  tracingTo,
} from '../adapter/opentelemetry/collector.ts';
import { describe } from '../check.ts';
import { until } from './harness/permission-requests.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  failing,
  outcome,
  prompt,
  replying,
  type Script,
  toolNamed,
  type WorldGiven,
} from './harness/world.ts';

const CALLED = { traceparent: CALLERS_TRACEPARENT };

type Asked = AgentWorld & {
  /** The contexts that the model and the tools were called in. */
  readonly modelTraces: (TraceContext | undefined)[];
  readonly toolTraces: (TraceContext | undefined)[];
  readonly deskTool: AgentTool;
};

/** A world whose model does these things, and a tool that says whether it failed by its input. */
const worldWith = async (scripts: readonly Script[], given: WorldGiven = {}, beginSpan?: BeginSpan): Promise<Asked> => {
  const modelTraces: (TraceContext | undefined)[] = [];
  const toolTraces: (TraceContext | undefined)[] = [];
  const rest = [...scripts];
  const model: ChatModel = (request, signal, trace) => {
    modelTraces.push(trace);
    const script = request.system.includes('Generate a title') ? replying('canary-title') : rest.shift();
    return (script ?? replying('canary-answer'))(request, signal);
  };
  const deskTool: AgentTool = {
    ...toolNamed('desk_read', async ({ fails }, { span }) => {
      toolTraces.push(span?.context);
      return outcome('canary-result', fails === true);
    }),
    origin: { server: 'desk', tool: 'read' },
  };
  const changes = { model, ...(beginSpan === undefined ? {} : { beginSpan }), ...given.changes };
  const world = await createAgentWorld({ tools: [deskTool], ...given, changes });
  return { ...world, modelTraces, toolTraces, deskTool };
};
const ask = async (world: AgentWorld, headers: Readonly<Record<string, string>> = CALLED): Promise<string> => {
  const id = await world.session({ title: 'canary-title' });
  const answered = world
    .call('POST', `/session/${id}/message`, prompt('canary-prompt'), headers)
    .then((response) => response.text());
  let isOver = false;
  void answered.finally(() => {
    isOver = true;
  });
  await until(world, () => isOver);
  return id;
};

type Recorded = { readonly world: Asked; readonly named: (name: string) => CollectedSpan[]; readonly sent: string };
/** Asks once and has the spans of it. */
const record = async (
  scripts: readonly Script[],
  given: WorldGiven,
  body: (recorded: Recorded) => void,
): Promise<void> => {
  const collector = await startCollector();
  const tracing = tracingTo(collector.url, 'agent');
  try {
    const world = await worldWith(scripts, given, tracing.beginSpan);
    await ask(world);
    await until(world, () => world.modelTraces.length > scripts.length - 1);
    await tracing.close();
    const named = (name: string) => collector.spans.filter((span) => span.name === name);
    body({ world, named, sent: collector.texts.join('\n') });
  } finally {
    await tracing.close();
    await collector.close();
  }
};
const only = (spans: readonly CollectedSpan[]): CollectedSpan => {
  const [first, second] = spans;
  if (first === undefined || second !== undefined) throw new Error(`Expected one span, found ${spans.length}`);
  return first;
};
const contextOf = ({ traceId, spanId }: CollectedSpan): TraceContext => ({ traceparent: `00-${traceId}-${spanId}-01` });

const CALL = calling({ name: 'desk_read', input: { text: 'canary-argument' } });

describe('a trace through the agent server without an exporter', (check) => {
  check('reaches the model and the tools as it came', async () => {
    const world = await worldWith([CALL, replying('done')]);
    await ask(world, { ...CALLED, tracestate: 'vendor=a' });
    const context = { ...CALLED, tracestate: 'vendor=a' };
    assert.equal(world.modelTraces.slice(0, 2), [context, context]);
    assert.equal(world.toolTraces, [context]);
  });

  check('is not made up where the caller has none', async () => {
    const world = await worldWith([CALL, replying('done')]);
    await ask(world, {});
    assert.equal([...new Set([...world.modelTraces, ...world.toolTraces])], [undefined]);
  });

  check('is that of each prompt, also of one that waits for another of its session', async () => {
    const gate = Promise.withResolvers<void>();
    const waiting: Script = async function* (...asked) {
      await gate.promise;
      yield* replying('done')(...asked);
    };
    const world = await worldWith([waiting, replying('done')], { titler: null });
    const id = await world.session();
    const traces = ['1', '2'].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`);
    const answers = traces.map(async (traceparent) => {
      const answered = await world.call('POST', `/session/${id}/message`, prompt('hello'), { traceparent });
      return answered.text();
    });
    await until(world, () => world.modelTraces.length === 1);
    gate.resolve();
    await until(world, () => world.modelTraces.length === 2);
    await until(world, async () => Object.keys((await world.get('/session/status')) as object).length === 0);
    await Promise.all(answers);
    assert.equal(world.modelTraces.map((trace) => trace?.traceparent).sort(), traces);
  });
});

describe('the spans of the agent server', (check) => {
  check('are the request, the turn, each request to a model and each tool call, without anything of their texts', () =>
    record([CALL, replying('canary-answer')], {}, ({ world, named, sent }) => {
      const request = only(named('POST /session/:id/message'));
      assert.equal([request.traceId, request.parentSpanId, request.kind], [CALLER.traceId, CALLER.spanId, 2]);
      const turn = only(named('invoke_agent build'));
      assert.equal([turn.parentSpanId, turn.kind, turn.isError], [request.spanId, 1, false]);
      const { 'gen_ai.conversation.id': session, ...agent } = turn.attributes;
      assert.match(String(session), /^ses_\w+$/);
      assert.equal(agent, {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'build',
        'gen_ai.provider.name': 'demo',
        'gen_ai.request.model': 'main',
      });
      const chats = named('chat main');
      assert.equal(
        chats.map(({ parentSpanId, kind }) => [parentSpanId, kind]),
        [
          [turn.spanId, 3],
          [turn.spanId, 3],
        ],
      );
      assert.equal(world.modelTraces.slice(0, 2), chats.map(contextOf));
      assert.equal(chats[0]?.attributes, {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'demo',
        'gen_ai.request.model': 'main',
        'server.address': 'model.test',
        'server.port': 80,
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.usage.output_tokens': 5,
        'gen_ai.usage.cache_read.input_tokens': 0,
        'gen_ai.usage.cache_creation.input_tokens': 0,
        'gen_ai.usage.reasoning.output_tokens': 0,
      });
      const tool = only(named('execute_tool desk_read'));
      assert.equal([tool.parentSpanId, tool.kind], [turn.spanId, 3]);
      assert.equal(tool.attributes, {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'desk_read',
        'gen_ai.tool.type': 'function',
        'mcp.method.name': 'tools/call',
      });
      assert.equal(world.toolTraces, [contextOf(tool)]);
      assert.not.match(sent, 'canary');
    }),
  );

  check('show each attempt of a request, and a call that failed', () => {
    const broken = failing(new ModelError('api', 'canary-words of a backend', { isRetryable: true, statusCode: 503 }));
    const failingCall = calling({ name: 'desk_read', input: { fails: true } });
    return record([broken, failingCall, replying('done')], {}, ({ named, sent }) => {
      assert.equal(
        named('chat main').map(({ attributes }) => attributes['error.type']),
        ['api', undefined, undefined],
      );
      const tool = only(named('execute_tool desk_read'));
      assert.equal([tool.attributes['error.type'], tool.isError], ['tool_error', true]);
      assert.not.match(sent, 'canary');
    });
  });

  check('lead from a task to the turn of the agent that works on it', () => {
    const input = { description: 'canary', prompt: 'canary', subagent_type: 'helper' };
    const helper = { name: 'helper', canTakeTasks: true, canAnswerPrompts: false };
    // The task tool is the server's own.
    return record(
      [calling({ name: 'task', input }), replying('found'), replying('done')],
      { agents: [helper] },
      ({ named, sent }) => {
        const task = only(named('execute_tool task'));
        assert.equal([task.kind, task.parentSpanId], [1, only(named('invoke_agent build')).spanId]);
        assert.is(only(named('invoke_agent helper')).parentSpanId, task.spanId);
        assert.not.match(sent, 'canary');
      },
    );
  });

  check('have no name that a model has made up', () =>
    record([calling({ name: 'canary_tool', input: {} }), replying('done')], {}, ({ named, sent }) => {
      assert.is(only(named('invoke_agent build')).isError, false);
      assert.not.match(sent, 'canary');
    }),
  );

  check('tell a turn that failed from one that was answered', () =>
    record([failing(new ModelError('auth', 'canary', { statusCode: 401 }))], { titler: null }, ({ named }) => {
      const turn = only(named('invoke_agent build'));
      assert.equal([turn.attributes['error.type'], turn.isError], ['failed', true]);
    }),
  );
});
