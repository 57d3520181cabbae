import type { RequestSpans } from '../../core/http/tracing.ts';
import type { ConfigViews } from '../config/views.ts';
import type { OpenStreams } from '../events/readers.ts';
import type { ReadBody } from '../protocol/request-schemas.ts';
import type { Resume } from '../session/resume.ts';
import type { McpServers } from '../tools/mcp/servers.ts';
import type { TurnNeeds } from '../turns/new-turn.ts';
import type { Turns } from '../turns/turns.ts';

/** Everything that routes of the agent server work with. */
export type RouteContext = TurnNeeds & {
  readonly turns: Turns;
  readonly resume: Resume;
  readonly mcp: McpServers;
  readonly streams: OpenStreams;
  /** Who decided, where a client gives no name: the name that clients log in with, if they do. */
  readonly userName: string;
  readonly spanOf: RequestSpans['of'];
  readonly readBody: ReadBody;
  /** Bodies of the routes that show the configuration, without its secrets. */
  readonly configViews: ConfigViews;
};
