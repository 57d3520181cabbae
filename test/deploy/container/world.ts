import { ROOT } from '../../runtime/processes.ts';
import { openProject, type Project } from './compose-world.ts';
import { createEngine, type Engine } from './engine.ts';
import { BASE, buildImages } from './images.ts';
import { STAGE_PORTS } from './stage-ports.ts';

type ContainerWorld = {
  readonly engine: Engine;
  /** The toys' addresses for a container that stands by itself. */
  readonly stage: { readonly judge: string };
  readonly project: Project;
};

/** What a container of ours is started with: nothing that it may write to, and nothing that it may do. */
export const TIGHT = [
  '--read-only',
  // podman would put memory over /tmp and /run by itself.
  '--read-only-tmpfs=false',
  '--cap-drop',
  'ALL',
  '--security-opt',
  'no-new-privileges',
] as const;

const open = async (): Promise<ContainerWorld & { readonly end: () => Promise<void> }> => {
  const engine = createEngine();
  await buildImages(engine);
  const program = ['--no-warnings', '/repository/test/deploy/container/stage.ts'];
  await engine.must('run', '--detach', '--name', 'stage', '--volume', `${ROOT}:/repository:ro`, BASE, ...program);
  const host = await engine.must('inspect', '--format', '{{.NetworkSettings.IPAddress}}', 'stage');
  const project = await openProject(engine);
  return { engine, stage: { judge: `http://${host}:${STAGE_PORTS.judge}` }, project, end: project.end };
};

let left = 0;
let reportsFailure = false;
let opened: ReturnType<typeof open> | undefined;

/** Images and project are made for the first check of the file that needs them, and end with the last that was declared. */
export const inContainerWorld = (body: (world: ContainerWorld) => Promise<void>): (() => Promise<void>) => {
  left += 1;
  return async () => {
    opened ??= open();
    const world = await opened.catch((error: unknown) => {
      // Once is enough: it has the whole output of a build.
      if (reportsFailure) throw new Error('There are no images, see above');
      reportsFailure = true;
      throw error;
    });
    try {
      await body(world);
    } finally {
      left -= 1;
      if (left === 0) await world.end();
    }
  };
};
