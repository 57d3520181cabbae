/** Parts of OpenCode's API that this server does not have, each with how it is called. The first that fits counts. */
const UNOFFERED: readonly (readonly [path: RegExp, name: string])[] = [
  [/^\/session\/[^/]+\/share$/, 'sharing'],
  [/^\/session\/[^/]+\/shell$/, 'shell commands'],
  [/^\/session\/[^/]+\/(?:command|init)$/, 'commands'],
  [/^\/session\/[^/]+\/message\/[^/]+\/part\/[^/]+$/, 'changing single parts'],
  [/^\/(?:find|file)(?:\/|$)/, 'files and searching them'],
  [/^\/(?:auth(?:\/|$)|provider\/[^/]+\/oauth\/|mcp\/[^/]+\/auth(?:\/|$))/, 'credentials at run time'],
  [/^\/question\//, 'questions of the model'],
  [/^\/vcs\//, 'version control'],
  [/^\/(?:project|instance)\//, 'changing projects'],
  [/^\/pty(?:\/|$)/, 'terminals (pty)'],
  [/^\/tui(?:\/|$)/, 'control of a terminal (tui)'],
  [/^\/sync(?:\/|$)/, 'syncing'],
  [/^\/experimental\//, 'this experimental part'],
  [/^\/api\//, 'the newer API'],
  [/^\/global\//, 'control of the server from outside'],
];

/** What the 404 of a path says: whether it is one of OpenCode that this server does not have, or none that is known. */
export const hintFor = (path: string): string => {
  const name = UNOFFERED.find(([form]) => form.test(path))?.[1];
  const beginning = name === undefined ? 'No such path' : `This server does not offer ${name}`;
  return `${beginning}. GET /doc lists all`;
};
