import { Fault } from '../../core/fault.ts';
import { notConfiguredText } from '../../core/identifier.ts';
import { expandTemplate } from '../protocol/command-template.ts';
import { isAnswerable } from '../protocol/part-schemas.ts';
import type { CommandBody, PromptBody } from '../protocol/request-schemas.ts';
import type { ModelRef } from '../protocol/types.ts';
import type { AgentCatalog, KnownCommand } from './catalog.ts';

/** The command of a name; a `bad-input` fault that names the nearest one otherwise. */
const requireCommand = ({ commands, secrets }: AgentCatalog, name: string): KnownCommand => {
  const command = commands.get(name);
  if (command !== undefined) return command;
  const message = `${notConfiguredText('command', name, [...commands.keys()], secrets)}. GET /command lists all`;
  throw new Fault({ kind: 'bad-input', code: 'unknown_command', param: 'command', message });
};

const modelOf = ({ model, variant }: CommandBody): ModelRef | undefined =>
  model === undefined || variant === undefined ? model : { ...model, variant };

/**
 * The prompt that a command stands for. Agent and model of the command, or of its agent, override those that the client
 * names: clients send the ones that are chosen on their screen. A `bad-input` fault where there is no such command, or where
 * nothing is left to send.
 */
export const toCommandPrompt = (catalog: AgentCatalog, given: CommandBody): PromptBody => {
  const command = requireCommand(catalog, given.command);
  const text = expandTemplate(command.template, given.arguments);
  const { parts = [], messageID } = given;
  if (text === '' && !parts.some(isAnswerable)) {
    const message = 'arguments: expected a text that is not blank, because the command is nothing without it';
    throw new Fault({ kind: 'bad-input', code: 'invalid_body', param: 'arguments', message });
  }
  const agent = command.agent ?? given.agent;
  const ofAgent = command.agent === undefined ? undefined : catalog.agents.get(command.agent)?.model;
  const model = command.model ?? ofAgent ?? modelOf(given);
  // Without a model of anyone's, the variant is for the one that the session goes on with.
  const variant = model === undefined ? given.variant : undefined;
  return {
    parts: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...parts],
    ...(messageID === undefined ? {} : { messageID }),
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : { model }),
    ...(variant === undefined ? {} : { variant }),
  };
};
