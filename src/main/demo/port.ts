/** The address that all demo services listen on. */
export const LOOPBACK = '127.0.0.1';

/** The ports of the demo services. */
export type Ports = {
  readonly gateway: string;
  /** 0: any free port. */
  readonly agent: number;
  readonly bridge: number;
  readonly console: number;
  readonly relay: number;
};

const DEFAULT_PORT = '8000';
const USUAL_PORTS = { agent: 4000, bridge: 4100, console: 4200, relay: 8090 } as const;

/** A free port for each service. */
export const ANY_PORTS: Ports = { gateway: '0', agent: 0, bridge: 0, console: 0, relay: 0 };

/** The default ports next to the gateway's port, which no other service gets. */
export const portsBeside = (given: string | undefined): Ports => {
  const gateway = given?.trim() || DEFAULT_PORT;
  const otherThan = (port: number): number => (port === Number(gateway) ? 0 : port);
  const { agent, bridge, console, relay } = USUAL_PORTS;
  return {
    gateway,
    agent: otherThan(agent),
    bridge: otherThan(bridge),
    console: otherThan(console),
    relay: otherThan(relay),
  };
};
