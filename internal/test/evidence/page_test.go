package evidence

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/reliability.md")

const page = "docs/reliability.md"

func TestEachPromiseHasARow(t *testing.T) {
	promised := regexp.MustCompile(`<a id="([a-z0-9]+)"></a>`).FindAllStringSubmatch(read(t, "docs/guarantees.md"), -1)
	var ids, rows []string
	for _, p := range promised {
		ids = append(ids, p[1])
	}
	for _, p := range promises {
		rows = append(rows, p.id)
	}
	slices.Sort(ids)
	slices.Sort(rows)
	require.Equal(t, slices.Compact(slices.Clone(ids)), ids, "an id of docs/guarantees.md is there twice")
	require.Equal(t, ids, rows, "the ids of docs/guarantees.md, and the rows of promises_test.go")
}

func TestTheTestsOfEachPromiseAreThere(t *testing.T) {
	there, err := tests()
	require.NoError(t, err)
	for _, p := range promises {
		require.NotEmpty(t, p.tests, p.id)
		require.NotEmpty(t, p.volume, p.id)
		for _, test := range p.tests {
			if there[test] == nil {
				t.Errorf("%s names %s, which is no test", p.id, test)
			}
		}
		for _, part := range p.long {
			require.Contains(t, parts, part, p.id)
		}
		for _, folder := range p.about {
			_, err := os.Stat(filepath.Join(root, folder))
			require.NoError(t, err, p.id)
		}
	}
}

// The counts of commits are those of the moment in which the page was written: each commit changes them.
func TestThePageIsWhatTheTablesSay(t *testing.T) {
	was, _ := os.ReadFile(filepath.Join(root, page))
	text := render(t, string(was))
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, page), []byte(text), 0o644))
		return
	}
	lines := func(text string) []string { return strings.Split(counted.ReplaceAllString(text, ""), "\n") }
	should, is := lines(text), lines(string(was))
	for i := range min(len(should), len(is)) {
		require.Equal(t, should[i], is[i], "line %d of %s: %s", i+1, page, anew)
	}
	require.Len(t, is, len(should), "%s: %s", page, anew)
}

const anew = "write it anew, by go test ./internal/test/evidence -update"

var counted = regexp.MustCompile(` \((\d+|\?) since\)`)

// commands are what runs the tests, a line for each module and kind of run.
func commands(t *testing.T, names []string) (lines []string) {
	there, err := tests()
	require.NoError(t, err)
	type way struct{ before, folder string }
	var ways []way
	of := map[way][]string{}
	for _, name := range names {
		for _, folder := range there[name] {
			w := way{"go test ", "./" + folder}
			switch module, rest, _ := strings.Cut(folder, "/"); {
			case module == "proof":
				w = way{"GOMAXPROCS=1 go -C proof test ", "./" + rest}
			case module == "interop":
				w.before = "REDLATCH_INTEROP=1 go test "
			}
			if of[w] == nil {
				ways = append(ways, w)
			}
			of[w] = append(of[w], name)
		}
	}
	for len(ways) > 0 { // folders with the same tests are one command
		first, same := ways[0], []string{}
		ways = slices.DeleteFunc(ways, func(w way) bool {
			if w.before != first.before || !slices.Equal(of[w], of[first]) {
				return false
			}
			same = append(same, w.folder)
			return true
		})
		pattern := strings.Join(of[first], "|")
		if len(of[first]) > 1 {
			pattern = "(" + pattern + ")"
		}
		lines = append(lines, fmt.Sprintf("%s%s -run '^%s$'", first.before, strings.Join(same, " "), pattern))
	}
	return lines
}

func render(t *testing.T, was string) string {
	var text strings.Builder
	write := func(format string, args ...any) { fmt.Fprintf(&text, format, args...) }
	of := runs(t)
	write("# What holds the promises\n\n")
	write("Each promise of [guarantees.md](guarantees.md), the tests that hold it, how much of them runs, and the long runs that look for a\n" +
		"counterexample. Behind them is every defect that was ever found, with what found it and what holds it since. This page is generated\n" +
		"(`go test ./internal/test/evidence -update`); a test fails where a promise has no row, or a row names a test that is not there.\n\n")
	write("The [commands](#commands) of each row are below. `.ci/run` runs all of them for each change. How the simulation, the soak and the\n" +
		"judges work, and what they cannot show, is in [proof/README.md](../proof/README.md).\n\n")
	write("## Long runs\n\n`.ci/long` takes some six hours, and notes here what has passed. A version is made of code with which each part has passed. In the\n" +
		"table of the promises the number is that of the commits that have changed the packages on which the promise stands.\n\n")
	write("| part | last run in full length, and how many commits have changed the library since |\n|---|---|\n")
	for _, part := range parts {
		if last, ran := of[part]; ran {
			write("| %s | %s on %s with %s%s |\n", part, last.ran, last.date, last.commit, number(was, "| "+part, last.commit, last, library))
		} else {
			write("| %s | none on record |\n", part)
		}
	}
	write("\n## Promises\n\n| promise | held by | what runs | long runs |\n|---|---|---|---|\n")
	for _, p := range promises {
		var long []string
		for _, part := range p.long {
			if last, ran := of[part]; ran {
				long = append(long, part+" "+last.commit+number(was, "| ["+p.id+"]", part+" "+last.commit, last, p.about))
			} else {
				long = append(long, part)
			}
		}
		write("| [%s](guarantees.md#%s) %s | %s | %s | %s |\n", p.id, p.id, p.words, quoted(p.tests), p.volume, strings.Join(long, ", "))
	}
	write("\n## Commands\n\n")
	for _, p := range promises {
		write("**%s** %s\n\n```\n%s\n```\n\n", p.id, p.words, strings.Join(commands(t, p.tests), "\n"))
	}
	trackRecord(t, write)
	return text.String()
}

// number is how many commits have changed these folders since a run, in brackets. Where git does not know it is that of the page, in
// the line that begins so, behind these words.
func number(was, begin, behind string, last run, folders []string) string {
	if n, known := since(last.commit, folders); known {
		return fmt.Sprintf(" (%d since)", n)
	}
	for line := range strings.Lines(was) {
		if _, rest, there := strings.Cut(line, behind); there && strings.HasPrefix(line, begin) {
			if at := counted.FindString(rest); at != "" {
				return at
			}
		}
	}
	return " (? since)"
}

func trackRecord(t *testing.T, write func(format string, args ...any)) {
	all := defects(t)
	unknown := 0
	for _, d := range all {
		if d.tests == nil {
			unknown++
		}
	}
	write("## Track record\n\n%d defects that a commit has mended, of which %d have no test that is known to hold them. \"Found by\" is what the\n"+
		"commit says; most do not say. The list is `internal/test/evidence/defects.txt`.\n\n### The twenty worst\n\n", len(all), unknown)
	for _, d := range all {
		if d.worst {
			write("- %s (%s%s)\n\n  ```\n  %s\n  ```\n\n", d.met, d.commit, found(", found by ", d), strings.Join(commands(t, d.tests), "\n  "))
		}
	}
	for _, kind := range kinds {
		write("### %s\n\n| defect | commit | found by | held by |\n|---|---|---|---|\n", kind.title)
		for _, d := range all {
			if d.kind == kind.name {
				held := quoted(d.tests)
				if d.tests == nil {
					held = unheld
				}
				write("| %s | %s | %s | %s |\n", d.met, d.commit, found("", d), held)
			}
		}
		write("\n")
	}
}

func found(before string, d defect) string {
	if d.found == "-" {
		return ""
	}
	return before + d.found
}

func quoted(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}
