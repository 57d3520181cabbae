import './two-bridges.ts';
import '../service/conversation-objects/items.test.ts';
import '../service/conversation-objects/objects.test.ts';
import '../service/conversation-objects/turns.test.ts';
