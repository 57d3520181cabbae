import type { Variables } from '../../core/config.ts';

const isTracingVariable = (name: string): boolean => name.startsWith('OTEL_');

/** Whether some variables set the tracing of their own program. */
export const nameTracing = (variables: Variables): boolean => Object.keys(variables).some(isTracingVariable);

/** The variables of tracing that hold for every service of Gatehouse: all but the name of the service that has them. */
export const tracingVariables = (variables: Variables): Variables =>
  Object.fromEntries(
    Object.entries(variables).filter(([name]) => isTracingVariable(name) && name !== 'OTEL_SERVICE_NAME'),
  );
