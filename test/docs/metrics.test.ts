import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { read } from './pages.ts';

const SHARED = 'src/adapter/prometheus.ts';
const PAGES = {
  'docs/moderation-gateway.md': 'src/gateway/adapter/prometheus.ts',
  'docs/agent-server.md': 'src/agent/adapter/prometheus.ts',
  'docs/bridge.md': 'src/bridge/adapter/prometheus.ts',
  'docs/console.md': 'src/console/adapter/prometheus.ts',
} as const;

/** The one that only a gateway with Redis has is made without the words that this looks for. */
const ELSEWHERE = 'shared_state_up: ';

const quotedIn = (text: string, form: RegExp): string => [...text.matchAll(form)].map(([, word]) => word).join(', ');

/** The metrics that a source makes, each with its labels: `runs: state`. */
const madeIn = (file: string): string[] =>
  [...read(file).matchAll(/\b(?:counter|timer|longTimer|gauge)\(\s*'(\w+)',\s*'[^']*'(?:,\s*\[([^\]]*)\])?/g)].map(
    ([, name, labels = '']) => `${name}: ${quotedIn(labels, /'(\w+)'/g)}`,
  );
const listedIn = (page: string): string[] =>
  [...read(page).matchAll(/^\| `gatehouse_(\w+)` \| ([^|]*?) ?\|/gm)].map(
    ([, name, labels = '']) => `${name}: ${quotedIn(labels, /`(\w+)`/g)}`,
  );

describe('the tables of metrics in the docs', (check) => {
  for (const [page, source] of Object.entries(PAGES)) {
    check(`${page} has the labels of each metric, in their order`, () => {
      const made = [...madeIn(SHARED), ...madeIn(source)];
      assert.ok(made.length > 8);
      const listed = listedIn(page).filter((line) => line !== ELSEWHERE);
      assert.equal(listed.sort(), made.sort());
    });
  }
});
