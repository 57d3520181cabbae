import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { litellmPlan } from './litellm.mjs';
import { nginxPlan } from './nginx.mjs';
import { chatBody, moderationBody } from './payload.mjs';
import { portkeyArguments } from './portkey.mjs';

const GATEWAY_KEY = 'bench-key-0123456789';
/** Few enough to stay in the cache whole, enough to be no single hot entry. */
const CACHED_TEXTS = 1000;

const gatewayBundle = join(import.meta.dirname, '..', 'dist', 'gateway.js');

/** The verdict as it stands, escaped, in a chat answer. */
const chat = { path: '/v1/chat/completions', body: chatBody, expected: ['\\"VIG\\":0', '"stop"'], echoesCounter: true };

const moderation = {
  path: '/v1/moderations',
  body: moderationBody,
  headers: { authorization: `Bearer ${GATEWAY_KEY}` },
  expected: ['"flagged":false', '"violence/graphic":0', '"category_scores":{'],
};

const gatewayPlan = async (port, backendUrl, more = {}) => {
  if (!existsSync(gatewayBundle)) throw new Error('dist/gateway.js is missing: npm run build');
  const env = {
    HOST: '127.0.0.1',
    PORT: String(port),
    APP_ENV: 'production',
    MODERATION_API_KEY: GATEWAY_KEY,
    MODERATION_MODELS: '{"moderation-fast":"bench"}',
    BACKEND_BASE_URL: backendUrl,
    BACKEND_DIALECT: 'openai',
    ...more,
  };
  return { args: [gatewayBundle], env, readyPath: '/health' };
};

const floorPlan = async (port, backendUrl) => ({
  args: [join(import.meta.dirname, 'floor.mjs')],
  env: { PORT: String(port), BACKEND_BASE_URL: backendUrl },
  readyPath: '/health',
});

const portkeyPlan = async (port) => ({
  args: await portkeyArguments(port),
  env: { NODE_ENV: 'production' },
  readyPath: '/',
});

/** The fake backend that stands behind every row; the row `direct` is a second one, in the place of a server under test. */
export const backendPlan = async (port, delayMs) => ({
  args: [join(import.meta.dirname, 'fake-backend.mjs')],
  env: { PORT: String(port), DELAY_MS: String(delayMs) },
  readyPath: '/v1/models',
});

/**
 * What is measured, in the order of the odd rounds: how a server is started and what it is asked. The cached gateway is a process of its own, so that its memory is that of hits.
 */
export const rowsFor = (backendUrl, delayMs, collectorUrl = backendUrl) => [
  { name: 'direct', plan: (port) => backendPlan(port, delayMs), load: chat },
  { name: 'floor', plan: floorPlan, load: chat },
  { name: 'gateway', plan: gatewayPlan, load: { ...moderation, cacheState: 'miss' } },
  { name: 'cached', plan: gatewayPlan, load: { ...moderation, cacheState: 'hit', lapTexts: CACHED_TEXTS } },
  {
    name: 'traced',
    // What a service with much traffic would record.
    plan: (port, url) =>
      gatewayPlan(port, url, {
        OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl,
        OTEL_TRACES_SAMPLER: 'traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.01',
      }),
    load: { ...moderation, cacheState: 'miss' },
  },
  { name: 'nginx', plan: nginxPlan, load: chat },
  { name: 'litellm', plan: litellmPlan, load: { ...chat, headers: { authorization: 'Bearer bench' } } },
  {
    name: 'portkey',
    plan: portkeyPlan,
    load: {
      ...chat,
      headers: {
        authorization: 'Bearer bench',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `${backendUrl}/v1`,
      },
    },
  },
];
