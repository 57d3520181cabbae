import type { ServiceState } from '../../protocol.ts';
import { plainLine } from '../format/hostile.ts';
import { texts } from '../texts.ts';

/** The name of a service, with its address where there are several of its kind. */
export const serviceName = ({ part, address }: ServiceState, all: readonly ServiceState[]): string => {
  const name = texts.services.names[part] ?? part;
  const isOneOfMany = all.filter((other) => other.part === part).length > 1;
  return isOneOfMany && address !== undefined ? `${name} ${plainLine(address, 60)}` : name;
};

/** An agent server by its position in the settings, with its address where that is known. */
export const agentName = (agent: number, address: string): string =>
  address === ''
    ? texts.toolServers.agent(agent + 1)
    : `${texts.toolServers.agent(agent + 1)} (${plainLine(address, 60)})`;
