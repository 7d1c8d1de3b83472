package doctor_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/doctor"
)

const docs = "../../../../docs/"

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(docs + name)
	require.NoError(t, err)
	return string(text)
}

func TestThePageHasTheTableOfChecks(t *testing.T) {
	_, table, found := strings.Cut(page(t, "doctor.md"), "| check | level | what is wrong | what to do |\n|---|---|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(strings.TrimSuffix(table, "\n"), "\n\n")
	var rows []string
	for _, c := range doctor.Checks {
		cell := strings.NewReplacer("<", "&lt;", "*", `\*`, "~", `\~`, "|", `\|`).Replace
		where := c.Page
		if own, anchor, ok := strings.Cut(where, "#"); ok && own == "doctor.md" {
			where = "#" + anchor
		}
		rows = append(rows, fmt.Sprintf("| [`%s`](%s) | %s | %s | %s |", c.ID, where, c.Level, cell(c.Means), cell(c.Do)))
	}
	require.Equal(t, strings.Join(rows, "\n"), table, "the page shows what Checks says")
}

func TestEachCheckNamesAPageAndAHeading(t *testing.T) {
	noSign := regexp.MustCompile(`[^a-z0-9 -]`)
	seen := map[string]bool{}
	for _, c := range doctor.Checks {
		require.False(t, seen[c.ID], c.ID)
		seen[c.ID] = true
		name, anchor, _ := strings.Cut(c.Page, "#")
		text := page(t, name)
		if anchor == "" {
			continue
		}
		found := false
		for line := range strings.Lines(text) {
			if heading := strings.TrimLeft(line, "#"); heading != line {
				slug := strings.ReplaceAll(noSign.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")
				found = found || slug == anchor
			}
		}
		require.True(t, found, "%s: there is no heading %s", c.ID, c.Page)
	}
}

func TestTheCommandsOfTheDocumentedUserAreTried(t *testing.T) {
	_, block, found := strings.Cut(page(t, "operating.md"), "```\nACL SETUSER app ")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	s := single(start(t))
	for _, word := range strings.Fields(block) {
		command, ok := strings.CutPrefix(word, "+")
		if !ok {
			continue
		}
		r := s.examine(t, plant{rules: []string{"-" + command}})
		require.NotEmpty(t, wrong(r), "nothing is found if the user may not use %s", command)
	}
}

// Without the keys of the registry everything works, so that is no warning.
func TestAUserWithoutTheRegistryIsTold(t *testing.T) {
	s := single(start(t))
	p := plant{prefix: "app:", rules: []string{"resetkeys", "~app:*", "~{app:*", "~redisson_*", "~redlatch_*:{app:*"}}
	r := s.examine(t, p)
	require.Empty(t, wrong(r))
	require.True(t, slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool { return f.ID == "acl-registry" && f.Result == doctor.Found }))
	p.rules = append(p.rules, "~redlatch_client*")
	require.Contains(t, s.examine(t, p).Fine, "acl-registry")
}

// The page has a user for monitoring. With its rights all is seen.
func TestTheDocumentedUserSeesEverything(t *testing.T) {
	_, block, found := strings.Cut(page(t, "doctor.md"), "```\nACL SETUSER doctor ")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	s := single(start(t))
	rules := []any{"acl", "setuser", "doctor", "reset"}
	for _, word := range strings.Fields(block) {
		rules = append(rules, word)
	}
	if err := s.nodes[0].Do(t.Context(), rules...).Err(); err != nil { // Redis 6.2 knows no rights to read alone
		rules = slices.DeleteFunc(rules, func(rule any) bool { return strings.Contains(rule.(string), "~") })
		s.do(t, append(rules, "~*")...)
	}
	s.do(t, "hset", "somebody:else", "f", "v")
	s.do(t, "set", "some:number", 1)
	r := s.examine(t, plant{client: func(_ *testing.T, _ *site, o *redis.Options) { o.Username, o.Password = "doctor", "secret" }})
	require.Empty(t, unseen(r), r.Findings)
	require.Empty(t, wrong(r))
}
