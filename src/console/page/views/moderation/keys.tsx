import { useSignal } from '@preact/signals';
import type { KeyChanged, ModerationState, ShownKey } from '../../api/types.ts';
import { durationText } from '../../format/dates.ts';
import { countText } from '../../format/numbers.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button, SteadyButton } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { SafeLine } from '../../parts/safe-text.tsx';
import { showFailure } from '../../parts/states.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { now } from '../../state/clock.ts';
import { showToast, type Tone } from '../../state/toasts.ts';
import { api, isAdmin } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';

const { columns, ...words } = texts.moderation.keys;

const TONES: Readonly<Record<ShownKey['state'], Tone>> = {
  active: 'good',
  'half-open': 'warning',
  probing: 'warning',
  cooling: 'bad',
};
const MINUTES = [5, 15, 60, 360, 1440] as const;

const remainingMs = (restsMs: number, takenAt: number): number => Math.max(0, takenAt + restsMs - now.value);

type RestDialogProps = {
  readonly onClose: () => void;
  readonly onRest: (seconds: number) => void;
  readonly isBusy: boolean;
};

const RestDialog = ({ onClose, onRest, isBusy }: RestDialogProps) => {
  const minutes = useSignal<number>(MINUTES[1]);
  return (
    <Dialog title={words.restTitle} onClose={onClose}>
      <p>{words.restHint}</p>
      <label class="field">
        <span>{words.restFor}</span>
        <select
          value={minutes.value}
          onChange={(event) => {
            minutes.value = Number(event.currentTarget.value);
          }}
        >
          {MINUTES.map((choice) => (
            <option key={choice} value={choice}>
              {durationText(choice * 60_000, 'long')}
            </option>
          ))}
        </select>
      </label>
      <footer class="dialog-actions">
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <SteadyButton kind="primary" isBusy={isBusy} onClick={() => onRest(minutes.value * 60)}>
          {words.rest}
        </SteadyButton>
      </footer>
    </Dialog>
  );
};

type KeyProps = { readonly backendKey: ShownKey; readonly takenAt: number; readonly onChange: () => void };

const Actions = ({ backendKey, onChange }: KeyProps) => {
  const isAsking = useSignal(false);
  const isBusy = useSignal(false);
  const send = async (body: object, done: string): Promise<void> => {
    isBusy.value = true;
    try {
      const path = `/api/keys/${encodeURIComponent(backendKey.fingerprint)}`;
      const { applies_to: reach } = await api.send<KeyChanged>('POST', path, body);
      showToast(`${done}${words.reach[reach]}`, 'good');
      onChange();
    } catch (error) {
      showFailure(error);
    }
    isBusy.value = false;
    isAsking.value = false;
  };
  const { fingerprint, state } = backendKey;
  return (
    <>
      {state === 'active' ? (
        <Button
          isSmall
          label={`${words.rest} ${fingerprint}`}
          onClick={() => {
            isAsking.value = true;
          }}
        >
          {words.rest}
        </Button>
      ) : (
        <Button
          isSmall
          isBusy={isBusy.value}
          label={`${words.release} ${fingerprint}`}
          onClick={() => void send({ action: 'release' }, words.released)}
        >
          {words.release}
        </Button>
      )}
      {isAsking.value ? (
        <RestDialog
          isBusy={isBusy.value}
          onClose={() => {
            isAsking.value = false;
          }}
          onRest={(seconds) => void send({ action: 'rest', seconds }, words.rested)}
        />
      ) : null}
    </>
  );
};

const Row = ({ backendKey, takenAt, onChange }: KeyProps) => {
  const { fingerprint, state, reason, rests_ms, strikes, models = [] } = backendKey;
  // The page's clock may be a second behind: a key that does not rest has nothing left.
  const leftMs = rests_ms === 0 ? 0 : remainingMs(rests_ms, takenAt);
  return (
    <tr>
      <td data-label={columns.key}>
        <code>{fingerprint}</code>
      </td>
      <td data-label={columns.state}>
        <Badge tone={TONES[state]}>{words.states[state]}</Badge>
      </td>
      <td data-label={columns.reason}>
        {reason === undefined ? '–' : <SafeLine text={reason} limit={80} />}
        {models.map((one) => (
          <div key={one.model} class="muted">
            <SafeLine text={`${one.model}: ${one.reason ?? one.state}`} limit={120} />
          </div>
        ))}
      </td>
      <td data-label={columns.returns}>{leftMs > 0 ? durationText(leftMs) : '–'}</td>
      <td data-label={columns.strikes} class="number">
        {countText(strikes)}
      </td>
      {isAdmin.value ? (
        <td data-label={columns.action}>
          <Actions backendKey={backendKey} takenAt={takenAt} onChange={onChange} />
        </td>
      ) : null}
    </tr>
  );
};

type KeyTableProps = { readonly state: ModerationState; readonly takenAt: number; readonly onChange: () => void };

/** The backend keys: which work, which rest, why and for how long. Admins rest and release them. */
export const KeyTable = ({ state, takenAt, onChange }: KeyTableProps) => (
  <section class="card" aria-labelledby="keys-title">
    <h2 id="keys-title">{words.title}</h2>
    <table class="table stacked">
      <TableHead
        columns={[
          ...[columns.key, columns.state, columns.reason, columns.returns],
          [columns.strikes, 'number'],
          ...(isAdmin.value ? [columns.action] : []),
        ]}
      />
      <tbody>
        {state.keys.map((one) => (
          <Row key={one.fingerprint} backendKey={one} takenAt={takenAt} onChange={onChange} />
        ))}
      </tbody>
    </table>
  </section>
);
