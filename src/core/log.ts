import type { Clock } from './clock.ts';

/** From the most to the least talkative. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The only fields a line may carry. There is none for texts, bodies or keys, so none can slip in. */
export type LogFields = {
  readonly requestId?: string;
  readonly method?: string;
  readonly route?: string;
  readonly status?: number;
  readonly durationMs?: number;
  readonly fault?: string;
  readonly reason?: string;
  readonly key?: string;
  readonly state?: string;
  readonly restMs?: number;
  readonly backend?: string;
  readonly model?: string;
  readonly address?: string;
  readonly version?: string;
  readonly signal?: string;
  readonly count?: number;
  readonly setting?: string;
  readonly session?: string;
  readonly tool?: string;
  readonly subject?: number;
  readonly amount?: string;
  readonly reference?: string;
  readonly outcome?: string;
  /** The event of a line that another program of ours has written. */
  readonly reported?: string;
};

/** Writes one JSON line per event; lines below the chosen level are dropped. */
export type Log = (level: LogLevel, event: string, fields?: LogFields) => void;

type LogNeeds = {
  readonly level: LogLevel;
  readonly service: string;
  readonly clock: Clock;
  /** Takes one whole line, without its line break. */
  readonly write: (line: string) => void;
};

export const createLog = ({ level, service, clock, write }: LogNeeds): Log => {
  const least = LOG_LEVELS.indexOf(level);
  const origin = JSON.stringify({ service }).slice(1, -1);
  // Under load many lines have the same millisecond, and writing a date takes as long as the rest of a line.
  let lastMs = Number.NaN;
  let lastTime = '';
  const timeText = (): string => {
    const now = clock.now();
    if (now !== lastMs) [lastMs, lastTime] = [now, new Date(now).toISOString()];
    return lastTime;
  };
  return (lineLevel, event, fields = {}) => {
    if (LOG_LEVELS.indexOf(lineLevel) < least) return;
    const head = `{"time":"${timeText()}","level":"${lineLevel}",${origin},"event":${JSON.stringify(event)}`;
    const rest = JSON.stringify(fields);
    write(rest === '{}' ? `${head}}` : `${head},${rest.slice(1)}`);
  };
};
