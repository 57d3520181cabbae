/** A `data:` URL in its parts. Nothing is decoded. */
export type DataUrl = { readonly isBase64: boolean; readonly data: string };

const START = /^data:[\w.+-]{1,100}\/[\w.+-]{1,100}(;[^,]{0,200})?,/;
const NO_BASE64 = /[^A-Za-z0-9+/]/;

/** Takes a `data:` URL apart; nothing when it is none, or none with a media type. */
export const dataUrl = (url: string): DataUrl | undefined => {
  const [start, parameters = ''] = START.exec(url) ?? [];
  if (start === undefined) return undefined;
  return { isBase64: /;base64$/i.test(parameters), data: url.slice(start.length) };
};

const withoutPadding = (data: string): string => {
  if (data.endsWith('==')) return data.slice(0, -2);
  return data.endsWith('=') ? data.slice(0, -1) : data;
};
const hasSoundEscapes = (data: string): boolean => {
  try {
    decodeURIComponent(data);
    return true;
  } catch {
    return false;
  }
};

/** What is wrong with the data, if anything: such a file could be told to no model, now or later. */
export const dataComplaint = ({ isBase64, data }: DataUrl): string | undefined => {
  if (!isBase64) return hasSoundEscapes(data) ? undefined : 'text in UTF-8 with sound percent escapes behind the comma';
  const isSound = data.length % 4 === 0 && !NO_BASE64.test(withoutPadding(data));
  return isSound ? undefined : 'base64 behind the comma, padded and without blanks';
};
