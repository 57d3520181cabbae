/** What `gatehouse demo --help` says. */
export const DEMO_HELP = `gatehouse demo: a moderation gateway with a toy judge on this machine

It takes no arguments. PORT (default 8000) and MODERATION_API_KEY (default: one made for the run) are read from the
environment. Ctrl-C ends it. The judge knows a table of words and no more: never use it for real input.
`;

export type DemoFacts = {
  readonly address: string;
  readonly judge: string;
  readonly key: string;
  readonly model: string;
};

const curl = ({ address, key }: DemoFacts, text: string): string =>
  `curl -s ${address}/v1/moderations -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${JSON.stringify({ input: text })}'`;

/** What a person sees first: that this is a demo, where it is, what to try and how to get a real judge. */
export const demoBanner = (
  facts: DemoFacts,
): string => `THIS IS A DEMO: the judge is a table of words, not a model. Never use it for real input.

  gateway   ${facts.address}   key ${facts.key}
  judge     ${facts.judge}   model ${facts.model}

A text that is flagged:
  ${curl(facts, 'I will kill you')}

A text that is clean:
  ${curl(facts, 'How do I kill a zombie process?')}

For a real judge, run "npm start" (where the package is installed: "gatehouse gateway") with one of
  BACKEND_API_KEYS=<keys of https://ollama.com>          the cloud
  BACKEND_BASE_URL=http://<host>:<port>                  your own Ollama, vLLM, llama.cpp or SGLang server
and MODERATION_API_KEYS=<keys for your clients>. Ctrl-C ends the demo.

`;
