/** Ids are compared byte by byte, which is the order of their creation. */
const ID = 'text COLLATE "C"';

/** Conversations and turns. They go with their session. */
export const TURN_SCHEMA = `
  CREATE TABLE conversation (
    id ${ID} PRIMARY KEY,
    owner ${ID} NOT NULL,
    name ${ID},
    session_id ${ID} NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    data text NOT NULL
  );
  CREATE UNIQUE INDEX conversation_by_name ON conversation (owner, name) WHERE name IS NOT NULL;
  CREATE INDEX conversation_by_session ON conversation (session_id);
  CREATE TABLE turn (
    id ${ID} PRIMARY KEY,
    owner ${ID} NOT NULL,
    conversation_id ${ID} NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    session_id ${ID} NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    prompt_id ${ID} NOT NULL,
    key ${ID},
    digest ${ID},
    due bigint,
    data text NOT NULL,
    end_digest ${ID} -- of the history that ended with it
  );
  CREATE UNIQUE INDEX turn_by_key ON turn (owner, key) WHERE key IS NOT NULL;
  CREATE INDEX turn_by_digest ON turn (owner, digest, id) WHERE digest IS NOT NULL;
  CREATE INDEX turn_by_conversation ON turn (conversation_id, id);
  CREATE INDEX turn_by_prompt ON turn (session_id, prompt_id, id);
  CREATE INDEX turn_due ON turn (due) WHERE due IS NOT NULL;
  CREATE INDEX turn_by_end ON turn (owner, end_digest, id) WHERE end_digest IS NOT NULL;
`;

/** The cases of `commit_group` for them. The later of two commits finds the row changed, or its name or key taken: `turn`. */
export const TURN_CHANGES = `
      WHEN 'conversation' THEN
        PERFORM 1 FROM session WHERE id = given.session FOR KEY SHARE;
        IF NOT FOUND THEN refusal := 'turn';
        ELSIF given.before IS NULL THEN
          INSERT INTO conversation (id, owner, name, session_id, data)
          VALUES (given.id, given.owner, given.key, given.session, given.data) ON CONFLICT DO NOTHING;
          IF NOT FOUND THEN refusal := 'turn'; END IF;
        ELSE
          UPDATE conversation SET session_id = given.session, data = given.data
          WHERE id = given.id AND data = given.before AND owner = given.owner;
          IF NOT FOUND THEN refusal := 'turn'; END IF;
        END IF;
      WHEN 'conversation-removed' THEN
        DELETE FROM conversation WHERE id = given.id;
      WHEN 'turn' THEN
        PERFORM 1 FROM session JOIN conversation ON conversation.id = given.parent
        WHERE session.id = given.session FOR KEY SHARE;
        IF NOT FOUND THEN refusal := 'turn';
        ELSIF given.before IS NULL THEN
          INSERT INTO turn (id, owner, conversation_id, session_id, prompt_id, key, digest, due, data)
          VALUES (given.id, given.owner, given.parent, given.session, given.message, given.key, given.digest,
            given.updated, given.data) ON CONFLICT DO NOTHING;
          IF NOT FOUND THEN refusal := 'turn'; END IF;
        ELSIF given.key IS NOT NULL AND EXISTS (
          SELECT 1 FROM turn WHERE owner = given.owner AND key = given.key AND id <> given.id
        ) THEN refusal := 'turn';
        ELSE
          UPDATE turn SET session_id = given.session, prompt_id = given.message, key = given.key,
            digest = given.digest, due = given.updated, data = given.data
          WHERE id = given.id AND data = given.before AND owner = given.owner;
          IF NOT FOUND THEN refusal := 'turn'; END IF;
        END IF;
      WHEN 'turn-removed' THEN
        DELETE FROM turn WHERE id = given.id;
      WHEN 'chain' THEN
        UPDATE turn SET end_digest = given.digest WHERE id = given.id AND owner = given.owner;
`;
