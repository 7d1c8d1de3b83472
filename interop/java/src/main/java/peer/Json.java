package peer;

import java.util.Iterator;
import java.util.Map;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/** One line of JSON to objects of the standard library, and back. */
final class Json {
    private Json() {}

    /** Reads with the YAML parser that Redisson brings along: JSON is a part of YAML. A parser is for one thread. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> read(String line) {
        return (Map<String, Object>) new Yaml(new SafeConstructor(new LoaderOptions())).load(line);
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value);
        return out.toString();
    }

    private static void write(StringBuilder out, Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            out.append('{');
            for (Iterator<? extends Map.Entry<?, ?>> all = map.entrySet().iterator(); all.hasNext(); ) {
                Map.Entry<?, ?> entry = all.next();
                write(out, entry.getKey().toString());
                out.append(':');
                write(out, entry.getValue());
                out.append(all.hasNext() ? "," : "");
            }
            out.append('}');
        } else if (value instanceof Iterable<?> list) {
            out.append('[');
            for (Iterator<?> all = list.iterator(); all.hasNext(); ) {
                write(out, all.next());
                out.append(all.hasNext() ? "," : "");
            }
            out.append(']');
        } else {
            quote(out, value.toString());
        }
    }

    private static void quote(StringBuilder out, String text) {
        out.append('"');
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
