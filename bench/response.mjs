const HEAD_END = '\r\n\r\n';

/** Walks `size CRLF data CRLF` pieces from `offset`; nothing while the last, empty piece has not arrived. */
const dechunked = (bytes, offset) => {
  let text = '';
  let at = offset;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.latin1Slice(at, lineEnd), 16);
    const dataAt = lineEnd + 2;
    if (bytes.length < dataAt + size + 2) return undefined;
    if (size === 0) return text;
    text += bytes.latin1Slice(dataAt, dataAt + size);
    at = dataAt + size + 2;
  }
};

/**
 * Reads one HTTP/1.1 answer, or nothing while it is incomplete. Bytes count as Latin-1 and nothing is decoded: the load
 * generator shares a core with the backend, and must cost as little as it can.
 */
export const parseResponse = (bytes) => {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = bytes.latin1Slice(0, headEnd);
  const bodyAt = headEnd + HEAD_END.length;
  const status = Number(head.slice(9, 12));
  const declared = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (declared === undefined) {
    const body = /\r\ntransfer-encoding: *chunked/i.test(head) ? dechunked(bytes, bodyAt) : '';
    return body === undefined ? undefined : { status, head, body };
  }
  const end = bodyAt + Number(declared);
  return bytes.length < end ? undefined : { status, head, body: bytes.latin1Slice(bodyAt, end) };
};
