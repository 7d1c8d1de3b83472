package evidence

import (
	_ "embed"
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
	var ids, rows []string
	for _, p := range anchor.FindAllStringSubmatch(read(t, "docs/guarantees.md"), -1) {
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

//go:embed page.txt
var frame string

// render puts the tables into the frame of the page. What the page was is asked for what git does not know here.
func render(t *testing.T, was string) string {
	all := defects(t)
	held := "A test holds each of them."
	if n := len(slices.DeleteFunc(slices.Clone(all), func(d defect) bool { return d.tests != nil })); n > 0 {
		held = fmt.Sprintf("Of %d of them no test is known that holds them.", n)
	}
	text := strings.NewReplacer(
		"{long runs}", longRuns(t, was), "{promises}", promised(t, was), "{commands}", allCommands(t),
		"{number}", fmt.Sprint(len(all)), "{held}", held, "{worst}", worst(t, all), "{defects}", byKind(all),
	).Replace(frame)
	return strings.TrimSpace(text) + "\n"
}

func longRuns(t *testing.T, was string) string {
	of := runs(t)
	text := "| part | last run in full length, and how many commits have changed the library since |\n|---|---|\n"
	for _, part := range parts {
		said := "none on record"
		if last, ran := of[part]; ran {
			since := number(was, "| "+part, last.commit, last, library)
			said = fmt.Sprintf("%s on %s with %s%s", last.ran, last.date, last.commit, since)
		}
		text += fmt.Sprintf("| %s | %s |\n", part, said)
	}
	return text
}

func promised(t *testing.T, was string) string {
	of := runs(t)
	counted := cases(t)
	text := "| promise | held by | what runs | long runs |\n|---|---|---|---|\n"
	for _, p := range promises {
		var long []string
		for _, part := range p.long {
			if last, ran := of[part]; ran {
				with := part + " " + last.commit
				part = with + number(was, "| ["+p.id+"]", with, last, p.about)
			}
			long = append(long, part)
		}
		text += fmt.Sprintf("| [%s](guarantees.md#%s) %s | %s | %s | %s |\n",
			p.id, p.id, p.words, quoted(p.tests), p.volume+casesOf(counted, p.tests), strings.Join(long, ", "))
	}
	return text
}

func allCommands(t *testing.T) (text string) {
	for _, p := range promises {
		text += fmt.Sprintf("**%s** %s\n\n```\n%s\n```\n\n", p.id, p.words, strings.Join(commands(t, p.tests), "\n"))
	}
	return strings.TrimSpace(text) + "\n"
}

// number is how many commits have changed these folders since a run, in brackets. Where git does not know it
// is that of the page, in the line that begins so, behind these words.
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

func worst(t *testing.T, all []defect) (text string) {
	for _, d := range all {
		if d.worst {
			of := strings.Join(commands(t, d.tests), "\n  ")
			text += fmt.Sprintf("- %s (%s%s)\n\n  ```\n  %s\n  ```\n\n", d.met, d.commit, found(", found by ", d), of)
		}
	}
	return strings.TrimSpace(text) + "\n"
}

func byKind(all []defect) (text string) {
	for _, kind := range kinds {
		text += fmt.Sprintf("### %s\n\n| defect | commit | found by | held by |\n|---|---|---|---|\n", kind.title)
		for _, d := range all {
			if d.kind == kind.name {
				held := unheld
				if d.tests != nil {
					held = quoted(d.tests)
				}
				text += fmt.Sprintf("| %s | %s | %s | %s |\n", d.met, d.commit, found("", d), held)
			}
		}
		text += "\n"
	}
	return text
}

func found(before string, d defect) string {
	if d.found == "-" {
		return ""
	}
	return before + d.found
}

func quoted(names []string) string {
	return "`" + strings.Join(names, "`, `") + "`"
}
