export const BASE64 = 'iVBORw0KGgo=';
export const PNG = `data:image/png;base64,${BASE64}`;
/** Parts of an input. */
export const text = (words: string) => ({ type: 'text', text: words });
export const image = (url = PNG) => ({ type: 'image_url', image_url: { url } });

/** An alias that takes images. */
export const MODERATION_MODELS = JSON.stringify({ 'with-eyes': { model: 'gemma4:31b', vision: true } });

/** Images that are not judged, with the alias that is asked, and how each is refused. */
export const REFUSED_IMAGES: readonly (readonly [
  name: string,
  model: string,
  input: unknown,
  code: string,
  param: string,
])[] = [
  ['for an alias without vision', 'moderation-fast', [text('a'), image()], 'image_unsupported', 'input[1]'],
  ['when there are two', 'with-eyes', [image(), image()], 'too_many_images', 'input'],
  ['by http', 'with-eyes', [image('http://a.test/a.png')], 'image_url_unsupported', 'input[0].image_url.url'],
  [
    'by https',
    'with-eyes',
    [text('a'), image('https://a.test/a.png')],
    'image_url_unsupported',
    'input[1].image_url.url',
  ],
  ['from a file', 'with-eyes', [image('file:///etc/passwd')], 'image_url_unsupported', 'input[0].image_url.url'],
  ['as SVG', 'with-eyes', [image('data:image/svg+xml;base64,AAAA')], 'image_url_unsupported', 'input[0].image_url.url'],
  [
    'that is no image',
    'with-eyes',
    [image('data:text/html;base64,AAAA')],
    'image_url_unsupported',
    'input[0].image_url.url',
  ],
  ['without base64', 'with-eyes', [image('data:image/png,AAAA')], 'image_url_unsupported', 'input[0].image_url.url'],
  ['that is empty', 'with-eyes', [image('data:image/png;base64,')], 'image_url_unsupported', 'input[0].image_url.url'],
  ['that ends in words', 'with-eyes', [image(`${PNG}" and more`)], 'image_url_unsupported', 'input[0].image_url.url'],
  ['without a URL', 'with-eyes', [{ type: 'image_url', image_url: {} }], 'invalid_type', 'input[0].image_url.url'],
  ['as a bare URL', 'with-eyes', [{ type: 'image_url', image_url: PNG }], 'invalid_type', 'input[0].image_url'],
];
