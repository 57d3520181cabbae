import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const EXECUTABLE = PLACES.find((path) => existsSync(path));

/** For checks that need a browser: what is missing here, if anything. */
export const MISSING_BROWSER = EXECUTABLE === undefined ? 'Chromium' : undefined;

export type Look = {
  readonly width: number;
  readonly height: number;
  readonly scheme: 'light' | 'dark';
  readonly isPhone?: boolean;
};
export const WIDE: Look = { width: 1280, height: 800, scheme: 'light' };

/** One person with cookies of their own. */
export type Person = { readonly page: Page; readonly context: BrowserContext };

export type TestBrowser = {
  readonly person: (look?: Look) => Promise<Person>;
  /** What any page wrote to its console as an error or a warning, with the address that it is about, threw, or was refused by its policy. */
  readonly problems: () => readonly string[];
  /** Every body and header that any page received. */
  readonly received: () => string;
  readonly end: () => Promise<void>;
};

/**
 * Refusals that a test provokes: the browser writes each failed request to the console, whatever the page makes of it.
 */
const FAILED_REQUEST = /^Failed to load resource: the server responded with a status of (?:401|404|409|410|429)/;

const watch = (page: Page, problems: string[], received: string[]): void => {
  page.on('console', (message) => {
    const isOurs = !FAILED_REQUEST.test(message.text());
    if (isOurs && ['error', 'warning'].includes(message.type()))
      problems.push(`${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => problems.push(error.stack ?? error.message));
  page.on('response', async (response) => {
    received.push(JSON.stringify(response.headers()));
    // The body of a stream, or of a page that is left, cannot be read; the stream's events are on the page.
    received.push(await response.text().catch(() => ''));
  });
};

let launched: Promise<Browser> | undefined;
let users = 0;

/** Starts a browser without a window, one for all that use it at the same time. Each must end it. */
export const startBrowser = async (): Promise<TestBrowser> => {
  const problems: string[] = [];
  const received: string[] = [];
  const contexts: BrowserContext[] = [];
  users += 1;
  launched ??= chromium.launch({
    ...(EXECUTABLE === undefined ? {} : { executablePath: EXECUTABLE }),
    // Chromium's sandbox refuses to run as root, which tests in containers do. Each window would also load two pages of
    // the browser's own for its address bar, which cost more than the page under test. This list takes the place of
    // Playwright's, of which it keeps what reaches out.
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,SpareRendererForSitePerProcess,HttpsUpgrades,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints',
    ],
  });
  const browser = await launched;
  return {
    async person({ width, height, scheme, isPhone = false } = WIDE) {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: scheme,
        ...(isPhone ? { isMobile: true, hasTouch: true, deviceScaleFactor: 2 } : {}),
        locale: 'en-GB',
        timezoneId: 'Europe/Berlin',
        reducedMotion: 'reduce',
      });
      contexts.push(context);
      context.setDefaultTimeout(10_000);
      const page = await context.newPage();
      watch(page, problems, received);
      return { page, context };
    },
    problems: () => problems,
    received: () => received.join('\n'),
    async end() {
      await Promise.all(contexts.map((context) => context.close()));
      users -= 1;
      if (users > 0) return;
      launched = undefined;
      await browser.close();
    },
  };
};
