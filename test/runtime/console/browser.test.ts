// One browser for these: to start it costs more than most of their checks.
import './approvals.checks.ts';
import './chat.checks.ts';
import { thorough } from '../../check.ts';

if (thorough(0, 1) === 1) await import('./moderation.checks.ts');
