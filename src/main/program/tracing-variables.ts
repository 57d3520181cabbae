import type { Variables } from '../../core/config.ts';

const isTracingVariable = (name: string): boolean => name.startsWith('OTEL_');

/** Whether some variables say themselves how their program traces. */
export const nameTracing = (variables: Variables): boolean => Object.keys(variables).some(isTracingVariable);

/** The variables of tracing that hold for every program of this house: all but the name of the service that was given them. */
export const tracingVariables = (variables: Variables): Variables =>
  Object.fromEntries(
    Object.entries(variables).filter(([name]) => isTracingVariable(name) && name !== 'OTEL_SERVICE_NAME'),
  );
