import * as v from 'valibot';
import { ConfigError, OneOf, readVariables, unknownVariables, type Variables, WholeNumber } from '../../core/config.ts';

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** Which traces are recorded: a share of them, or what the caller has decided, and the share of those without a caller's. */
export type Sampling = { readonly share: number; readonly asCaller: boolean };

/** Where spans are sent, and as whose. */
export type TracingSettings = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly serviceName: string | undefined;
  readonly resource: Readonly<Record<string, string>>;
  readonly sampling: Sampling;
  /** Settings that were set and are not followed, each with why. */
  readonly ignored: ReadonlyMap<string, string>;
  /** Settings that are followed and likely wrong, each with why. */
  readonly doubtful: ReadonlyMap<string, string>;
};

const Address = v.pipe(
  v.string(),
  v.trim(),
  v.check(
    (text) => /^https?:\/\//i.test(text) && URL.canParse(text),
    'expected an address such as http://collector.example:4318',
  ),
);

/** A path is put behind this one, which a query would swallow. */
const BaseAddress = v.pipe(
  Address,
  v.check(
    (text) => !/[?#]/.test(text),
    'expected an address such as http://collector.example:4318, without query or fragment; OTEL_EXPORTER_OTLP_TRACES_ENDPOINT takes a whole address',
  ),
);

const PAIRS = 'expected name=value,name=value, with percent escapes for what is no letter, digit or .-_';

/** The value list of W3C baggage, which OpenTelemetry uses for all its lists. Names and values are trimmed. */
const Pairs = v.pipe(
  v.string(),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const items = dataset.value.split(',').filter((item) => item.trim() !== '');
    try {
      return Object.fromEntries(
        items.map((item): [string, string] => {
          const at = item.indexOf('=');
          const name = decodeURIComponent(item.slice(0, Math.max(at, 0)).trim());
          if (name === '') throw new URIError();
          return [name, decodeURIComponent(item.slice(at + 1).trim())];
        }),
      );
    } catch {
      addIssue({ message: PAIRS });
      return NEVER;
    }
  }),
);

/** Header names and values that HTTP can carry. */
const Headers = v.pipe(
  Pairs,
  v.check(
    (headers) =>
      Object.entries(headers).every(
        ([name, value]) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(value),
      ),
    PAIRS,
  ),
);

const Share = v.pipe(
  v.string(),
  v.trim(),
  v.check((text) => text !== '' && Number(text) >= 0 && Number(text) <= 1, 'expected a number from 0 to 1'),
  v.transform(Number),
);

const Flag = v.pipe(
  v.string(),
  v.check(() => true, 'expected true to switch tracing off'),
  v.transform((text) => text.trim().toLowerCase() === 'true'),
);

/** The variables of OpenTelemetry that are followed, by https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. */
export const TracingVariables = v.object({
  OTEL_SDK_DISABLED: v.optional(Flag),
  OTEL_TRACES_EXPORTER: v.optional(OneOf(['otlp', 'none']), 'otlp'),
  OTEL_EXPORTER_OTLP_ENDPOINT: v.optional(BaseAddress),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: v.optional(Address),
  OTEL_EXPORTER_OTLP_HEADERS: v.optional(Headers),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: v.optional(Headers),
  OTEL_EXPORTER_OTLP_TIMEOUT: v.optional(WholeNumber(1, 600_000), '10000'),
  OTEL_EXPORTER_OTLP_PROTOCOL: v.optional(v.string(), 'http/json'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: v.optional(v.string(), 'http/json'),
  OTEL_SERVICE_NAME: v.optional(v.pipe(v.string(), v.trim())),
  OTEL_RESOURCE_ATTRIBUTES: v.optional(Pairs),
  OTEL_TRACES_SAMPLER: v.optional(OneOf(SAMPLERS), 'parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: v.optional(Share, '1'),
});

const samplingOf = (sampler: (typeof SAMPLERS)[number], ratio: number): Sampling => ({
  share: sampler.endsWith('ratio') ? ratio : sampler.endsWith('on') ? 1 : 0,
  asCaller: sampler.startsWith('parentbased'),
});

/** Names that are nearly one that is followed. Any other variable of OpenTelemetry may be there for other programs. */
const misspeltNames = (variables: Variables): readonly (readonly [string, string])[] => {
  const unknown = unknownVariables(variables, /^\b$/, Object.keys(TracingVariables.entries));
  return [...unknown].map(([name, meant]) => [name, `the nearest known one is ${meant}`]);
};

/**
 * Names that are a slip away from one of an endpoint, each with why it has no effect. Also for a program that does not trace: such a
 * name may be why.
 */
export const misspeltEndpoints = (variables: Variables): ReadonlyMap<string, string> =>
  new Map(misspeltNames(variables).filter(([, reason]) => reason.endsWith('_ENDPOINT')));

/** The port of OTLP over gRPC, which answers no HTTP/1.1. Source: https://opentelemetry.io/docs/specs/otlp/ */
const GRPC_PORT = '4317';
const isForGrpc = (url: string): boolean => new URL(url).port === GRPC_PORT;

const tracesUrl = (endpoint: string): string => `${endpoint.replace(/\/+$/, '')}/v1/traces`;

/** What holds an address or a share only beside another variable: checked only where tracing is on. */
const isOn = ({
  OTEL_SDK_DISABLED: disabled = '',
  OTEL_TRACES_EXPORTER: exporter = '',
  ...others
}: Variables): boolean =>
  disabled.trim().toLowerCase() !== 'true' &&
  exporter.trim() !== 'none' &&
  [others.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, others.OTEL_EXPORTER_OTLP_ENDPOINT].some(
    (address) => address !== undefined && address.trim() !== '',
  );

/**
 * Reads the variables of OpenTelemetry. Undefined without an endpoint, and where tracing is switched off: then the others are not
 * looked at, because they may be there for other programs. Throws a `ConfigError`, which shows no value.
 */
export const readTracingSettings = (variables: Variables): TracingSettings | undefined => {
  if (!isOn(variables)) return undefined;
  const given = readVariables(TracingVariables, variables);
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = given;
  const url = own ?? (base === undefined ? undefined : tracesUrl(base));
  if (url === undefined) throw new ConfigError(['OTEL_EXPORTER_OTLP_ENDPOINT: expected an address']);
  const protocols = ['OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] as const;
  const otherProtocols = protocols.filter((name) => given[name].trim() !== 'http/json');
  return {
    url,
    headers: { ...given.OTEL_EXPORTER_OTLP_HEADERS, ...given.OTEL_EXPORTER_OTLP_TRACES_HEADERS },
    timeoutMs: given.OTEL_EXPORTER_OTLP_TIMEOUT,
    serviceName: given.OTEL_SERVICE_NAME,
    resource: given.OTEL_RESOURCE_ATTRIBUTES ?? {},
    sampling: samplingOf(given.OTEL_TRACES_SAMPLER, given.OTEL_TRACES_SAMPLER_ARG),
    ignored: new Map([
      ...otherProtocols.map((name) => [name, 'spans are sent as http/json'] as const),
      ...misspeltNames(variables),
    ]),
    doubtful: new Map(
      isForGrpc(url)
        ? [
            [
              own === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
              'by convention collectors take gRPC at port 4317, and HTTP, as which spans are sent, at 4318',
            ],
          ]
        : [],
    ),
  };
};
