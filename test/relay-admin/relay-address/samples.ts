import { words } from '../../words.ts';

/** A base URL, and the origin that it stands for. Its host is allowed. */
export const TAKEN: readonly (readonly [string, string])[] = [
  ['https://relay.example', 'https://relay.example'],
  ['https://relay.example/', 'https://relay.example'],
  ['https://relay.example:8443', 'https://relay.example:8443'],
  ['https://relay.example:443', 'https://relay.example'],
  ['https://relay.example:1', 'https://relay.example:1'],
  ['https://relay.example:65535', 'https://relay.example:65535'],
  ['https://a', 'https://a'],
  ['https://xn--bcher-kva.example', 'https://xn--bcher-kva.example'],
  ['https://8.8.8.8', 'https://8.8.8.8'],
  ['https://[2001:db8::1]:8443', 'https://[2001:db8::1]:8443'],
];

/** Addresses without TLS that stay inside a cluster or a machine. */
export const INSIDE: readonly string[] = words(`
  http://relay:8080 http://relay_1:8080 http://localhost:3000 http://relay.apps.svc:8080
  http://relay.apps.svc.cluster.local:8080 http://relay.local http://relay.corp.internal http://relay.lan
  http://relay.home.arpa http://127.0.0.1:8080 http://127.9.9.9 http://10.0.0.1 http://10.255.255.255
  http://172.16.0.1 http://172.31.255.255 http://192.168.1.1 http://[::1]:8080 http://[fc00::1]
  http://[fd12:3456:789a::1]
`);

/** Addresses without TLS that may leave it. */
export const OUTSIDE: readonly string[] = words(`
  http://relay.example http://relay.example:8080 http://localhost.evil.com http://svc.evil.com
  http://relay.svc.evil.com http://relay.test.evil.com http://relay.localhost.evil.com http://evil.comlocal
  http://10.evil.com http://127.0.0.1.evil.com http://192.168.1.1.nip.io http://8.8.8.8 http://11.0.0.1
  http://100.64.0.1 http://126.255.255.255 http://128.0.0.1 http://169.254.169.254 http://172.15.255.255
  http://172.32.0.1 http://192.167.1.1 http://192.169.1.1 http://0.0.0.0 http://255.255.255.255 http://[::]
  http://[2001:db8::1] http://[fe80::1] http://[::ffff:7f00:1] http://[::ffff:a00:1]
`);

/** What is no plain base URL, by the trick. */
export const TRICKS: Readonly<Record<string, readonly string[]>> = {
  'a user': words(`
    https://user@relay.example https://user:pass@relay.example https://:@relay.example https://@relay.example
    https://relay.example@evil.com https://relay.example:443@evil.com https://relay.example%40evil.com
    https://relay.example%00@evil.com
  `),
  'an address that is written otherwise': words(`
    http://127.1 http://127.0.1 http://0 http://0x7f000001 http://0x7f.0.0.1 http://0x7f.1 http://2130706433
    http://017700000001 http://0177.0.0.1 http://127.0.0.01 http://10.1 http://127.0.0.1. http://[::ffff:127.0.0.1]
    http://[::127.0.0.1] http://[0:0:0:0:0:0:0:1] http://[0000::1] http://[::0001] http://[FD00::1]
    http://[fe80::1%25eth0] http://[::1 http://::1 http://[] http://[:::1] http://256.0.0.1 http://1.2.3.4.5
    http://relay.1 http://relay.0x1
  `),
  'a dot at an end of the host': words(`
    https://relay.example. https://relay.example.:443 https://.relay.example http://relay. http://localhost. https://.
    https://..
  `),
  'letters outside ASCII': [
    'https://bücher.example',
    'https://ｒelay.example',
    'https://relay。example',
    'https://relay．example',
    'https://rеlay.example',
    'https://ⓡelay.example',
    'https://relay.example\u00ad',
    'https://rel\u200bay.example',
    'https://relay.example\u2044evil.com',
    'https://relay.example：443',
    'http://１２７.0.0.1',
    'http://ℓocalhost',
    'https://xn--',
  ],
  'upper case': ['HTTPS://relay.example', 'Https://relay.example', 'https://Relay.example', 'https://relay.EXAMPLE'],
  'blanks and line breaks in it': [
    'https://relay.\texample',
    'https://relay\n.example',
    'ht\ntps://relay.example',
    'https:/\t/relay.example',
    'https://relay.example\r\nhost: evil.com',
    'https://relay .example',
    'https://relay.example :443',
    'https://relay.example\u0000',
    'https://relay.example\u0000.evil.com',
  ],
  'a port that is none': words(`
    https://relay.example: https://relay.example:/ https://relay.example:0 https://relay.example:0443
    https://relay.example:00 https://relay.example:65536 https://relay.example:99999 https://relay.example:123456
    https://relay.example:-1 https://relay.example:+1 https://relay.example:4e2 https://relay.example:443:443
    https://relay.example:https https://relay.example:４４３
  `),
  'a path, a query or a fragment': words(`
    https://relay.example/admin https://relay.example// https://relay.example/. https://relay.example/..
    https://relay.example/../x https://relay.example/%2e%2e https://relay.example? https://relay.example/?x=1
    https://relay.example?@evil.com https://relay.example# https://relay.example/#x https://relay.example#@evil.com
    https://relay.example;x
  `),
  backslashes: [
    'https:\\\\relay.example',
    'https://relay.example\\',
    'https://relay.example\\@evil.com',
    'https://evil.com\\@relay.example',
    'https:\\/relay.example',
  ],
  'another scheme, or none': words(`
    ftp://relay.example file:///etc/passwd file://relay.example data:text/plain,x javascript:alert(1)
    ws://relay.example wss://relay.example unix:///var/run/relay.sock gopher://127.0.0.1 blob:https://relay.example
    view-source:https://relay.example https+insecure://relay.example xhttps://relay.example x:https://relay.example
    https:relay.example https:/relay.example https:///relay.example //relay.example relay.example relay.example:443
    https:// http
  `),
  'signs that no host name has': words(`
    https://relay!example https://relay*.example https://*.example https://-relay.example https://relay.example-
    https://_relay.example https://relay,evil.com https://relay.example,evil.com https://%72elay.example
    https://relay%2eexample https://relay.example%2f https://$host https://{relay} https://relay^example
    https://relay|example https://relay<example
  `),
};
