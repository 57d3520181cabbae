import * as assert from 'uvu/assert';
import { createLog, LOG_LEVELS, type LogLevel } from '../../src/core/log.ts';
import { describe } from '../check.ts';
import { createFakeClock } from '../fake-clock.ts';

const logAt = (level: LogLevel) => {
  const lines: string[] = [];
  const clock = createFakeClock(Date.UTC(2026, 1, 3, 4, 5, 6, 7));
  return { lines, clock, log: createLog({ level, service: 'gateway', clock, write: (line) => lines.push(line) }) };
};

describe('the log', (check) => {
  check('writes time, level, service and event, then the fields', () => {
    const { lines, log } = logAt('info');
    log('warn', 'key-state', { key: 'f1a2', state: 'cooling', restMs: 5000 });
    assert.equal(lines, [
      '{"time":"2026-02-03T04:05:06.007Z","level":"warn","service":"gateway","event":"key-state","key":"f1a2","state":"cooling","restMs":5000}',
    ]);
  });

  check('needs no fields', () => {
    const { lines, log } = logAt('info');
    log('info', 'stopped');
    assert.equal(JSON.parse(lines[0] ?? ''), {
      time: '2026-02-03T04:05:06.007Z',
      level: 'info',
      service: 'gateway',
      event: 'stopped',
    });
  });

  check('asks for the time anew for each line', async () => {
    const { lines, log, clock } = logAt('info');
    log('info', 'first');
    await clock.advance(1000);
    log('info', 'second');
    assert.equal(
      lines.map((line) => JSON.parse(line).time),
      ['2026-02-03T04:05:06.007Z', '2026-02-03T04:05:07.007Z'],
    );
  });

  for (const [index, level] of LOG_LEVELS.entries()) {
    check(`drops what is below ${level} and writes the rest`, () => {
      const { lines, log } = logAt(level);
      for (const lineLevel of LOG_LEVELS) log(lineLevel, 'event');
      assert.equal(
        lines.map((line) => JSON.parse(line).level),
        LOG_LEVELS.slice(index),
      );
    });
  }

  check('keeps one event on one line, whatever a field holds', () => {
    const { lines, log } = logAt('info');
    const reason = 'first\nsecond\r\n{"level":"error","event":"forged"}\u2028\0';
    log('info', 'event', { reason });
    assert.is(lines.length, 1);
    assert.not.match(lines.join(), /[\r\n\0]/);
    assert.is(JSON.parse(lines[0] ?? '').reason, reason);
  });

  check('leaves out a field that has no value', () => {
    const { lines, log } = logAt('info');
    log('info', 'event', JSON.parse('{}'));
    log('info', 'event', { count: 0 });
    assert.equal(
      lines.map((line) => /count|undefined|null/.test(line)),
      [false, true],
    );
    assert.match(lines[1] ?? '', /"count":0/);
  });
});
