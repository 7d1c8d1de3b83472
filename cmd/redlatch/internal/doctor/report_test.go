package doctor_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/doctor"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
)

// sample is a report of everything that a report can have.
func sample() *doctor.Report {
	ms, share, wait, silent := 1.25, 93.5, 754.4, 2.0
	finding := func(id, result string, level doctor.Level, places ...doctor.Place) doctor.Finding {
		return doctor.Finding{
			ID: id, Result: result, Level: level, Means: "It is wrong.", Do: "Repair it.", Docs: "https://example.org/doctor.md", Places: places,
		}
	}
	return &doctor.Report{
		Schema: doctor.Schema, Server: "10.0.0.1:6379,10.0.0.2:6379", Topology: "cluster", Masters: []string{"10.0.0.1:6379", "10.0.0.2:6379"},
		Worst: "error", Counts: doctor.Counts{Error: 1, Warn: 1, Info: 1, Unknown: 1},
		Findings: []doctor.Finding{
			finding("eviction-all", doctor.Found, doctor.Error, doctor.Place{Node: "10.0.0.1:6379", Detail: "allkeys-lru | 100 %"},
				doctor.Place{Node: "10.0.0.2:6379", Detail: "allkeys-lru"}),
			finding("permits-of-dead", doctor.Found, doctor.Warn, doctor.Place{Detail: `"jobs"`}),
			finding("idle-timeout", doctor.Unknown, doctor.Warn, doctor.Place{Node: "10.0.0.1:6379", Detail: "the user may not use CONFIG GET"}),
			finding("no-replicas", doctor.Found, doctor.Info, doctor.Place{Node: "10.0.0.1:6379", Detail: "connected_slaves is 0"}),
		},
		Fine: []string{"version"}, Beside: []string{"sentinels-few"}, Ignore: []string{"round-trip"},
		Figures: doctor.Figures{RoundTrip: &ms, Memory: &share, OldestWait: &wait, SilentHolders: &silent},
	}
}

// The files in testdata are what programs rely on: fields may be added to them, and nothing else may change.
func TestTheFormsOfAReportAreStable(t *testing.T) {
	golden := func(name, got string) {
		want, err := os.ReadFile("testdata/" + name)
		require.NoError(t, err)
		require.Equal(t, string(want), got, name)
	}
	var b bytes.Buffer
	require.NoError(t, sample().JSON(&b))
	golden("report.json", b.String())
	b.Reset()
	require.NoError(t, sample().Table(terminal.To(&b)))
	golden("report.txt", b.String())
	code, line := sample().Monitor()
	require.Equal(t, doctor.MonitorCritical, code)
	golden("report.nagios", line+"\n")
}

func TestTheWorstFindingDecidesTheCodes(t *testing.T) {
	for worst, codes := range map[string][2]int{"error": {2, 2}, "warn": {1, 1}, "unknown": {1, 3}, "ok": {0, 0}} {
		r := sample()
		r.Worst = worst
		require.Equal(t, codes[0], r.Code(), worst)
		code, line := r.Monitor()
		require.Equal(t, codes[1], code, worst)
		require.Equal(t, 1, strings.Count(line, "|"), "the bar is where the performance data begin")
		require.NotContains(t, line, "\n")
	}
}

func TestAReportIsSafeForATerminal(t *testing.T) {
	s := single(start(t))
	s.do(t, "hset", "evil\x1b[31m\u202e\n", dead+":7", 1)
	r := s.examine(t, plant{})
	require.Equal(t, []string{"lock-without-ttl"}, wrong(r))
	var table, document bytes.Buffer
	require.NoError(t, r.Table(terminal.To(&table)))
	require.NoError(t, r.JSON(&document))
	_, line := r.Monitor()
	for _, text := range []string{table.String(), line} {
		require.NotContains(t, text, "\x1b")
		require.NotContains(t, text, "\u202e")
	}
	require.True(t, json.Valid(document.Bytes()))
}

func TestAReportIsBrokenBetweenWords(t *testing.T) {
	r := sample()
	r.Findings = append(r.Findings, doctor.Finding{ID: "x", Result: doctor.Unknown, Places: []doctor.Place{{Node: "a:1", Detail: strings.Repeat("word ", 30)}}})
	var whole, narrow bytes.Buffer
	require.NoError(t, r.Table(terminal.To(&whole)))
	require.NoError(t, r.Table(&terminal.Output{Writer: &narrow, Width: 80}))
	for line := range strings.Lines(narrow.String()) {
		if !strings.Contains(line, "https://") {
			require.LessOrEqual(t, len([]rune(line)), 81, line)
		}
	}
	require.Equal(t, strings.Fields(whole.String()), strings.Fields(narrow.String()))
}

func TestAServerThatHangsIsReportedInTime(t *testing.T) {
	server := start(t)
	s := single(server)
	report := func() *doctor.Report {
		client := redis.NewClient(&redis.Options{Addr: s.addr})
		defer client.Close()
		r, err := doctor.Run(t.Context(), doctor.Config{Client: client, Window: time.Millisecond, Timeout: time.Second})
		require.NoError(t, err)
		return r
	}
	require.Equal(t, "ok", report().Worst)
	require.NoError(t, server.Stop())
	r := report()
	require.NoError(t, server.Continue())
	require.Equal(t, []string{"unreachable"}, wrong(r))
	require.Empty(t, r.Fine)
}

func TestSentinelsThatHangCostNoOtherCheck(t *testing.T) {
	s, g := sentinels(t)
	require.NoError(t, g.Sentinels[0].Stop())
	t.Cleanup(func() { require.NoError(t, g.Sentinels[0].Continue()) })
	r := s.examine(t, plant{})
	require.Contains(t, wrong(r), "sentinel-silent")
	require.Subset(t, []string{"sentinel-silent", "sentinels-few"}, wrong(r))
	require.Empty(t, unseen(r))
	require.Equal(t, []string{g.Master.Addr()}, r.Masters)

	for _, sentinel := range g.Sentinels[1:] {
		require.NoError(t, sentinel.Stop())
		t.Cleanup(func() { require.NoError(t, sentinel.Continue()) })
	}
	s.config.Timeout = 10 * time.Second
	r = s.examine(t, plant{})
	require.Equal(t, []string{"unreachable"}, wrong(r))
	require.Subset(t, unseen(r), []string{"sentinel-silent", "sentinel-quorum", "version"})
}

func TestAnIgnoredCheckIsNotAsked(t *testing.T) {
	s := single(start(t, "--appendonly", "no"))
	require.Equal(t, []string{"persistence-off"}, wrong(s.examine(t, plant{})))
	s.config.Ignore = []string{"persistence-off"}
	r := s.examine(t, plant{})
	require.Empty(t, wrong(r))
	require.Equal(t, s.config.Ignore, r.Ignore)
}
