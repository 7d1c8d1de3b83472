package peer;

import java.util.List;
import java.util.Map;

/** A command as it was read, with what each field is when it was left out. */
record Command(Map<String, Object> fields) {
    String text(String field) {
        Object value = fields.get(field);
        if (value == null) {
            throw new IllegalArgumentException("the command needs the field " + field);
        }
        return value.toString();
    }

    String text(String field, String otherwise) {
        return has(field) ? text(field) : otherwise;
    }

    long number(String field, long otherwise) {
        return has(field) ? ((Number) fields.get(field)).longValue() : otherwise;
    }

    int permits() {
        return Math.toIntExact(number("n", 1));
    }

    /** No lease is how Redisson is told that its watchdog shall keep the lock. */
    long lease() {
        return number("lease", -1);
    }

    boolean has(String field) {
        return fields.get(field) != null;
    }

    @SuppressWarnings("unchecked")
    List<String> texts(String field) {
        return has(field) ? ((List<Object>) fields.get(field)).stream().map(Object::toString).toList() : List.of();
    }

    @SuppressWarnings("unchecked")
    List<Command> objects(String field) {
        return ((List<Map<String, Object>>) fields.get(field)).stream().map(Command::new).toList();
    }
}
