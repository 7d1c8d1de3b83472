package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/doctor"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestDoctorSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	srv := redistest.Process(t) // keeps nothing on disk
	examine := func(args ...string) (int, string, string) {
		return use(append(args, "--url", "redis://"+srv.Addr, "--window", "10ms", "--rtt", "5s")...)
	}
	code, stdout, stderr := examine("doctor")
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "WARN    persistence-off\n")
	require.Contains(t, stdout, "Do: Set appendonly to yes")
	require.Empty(t, stderr)

	code, stdout, _ = examine("doctor", "-o", "json", "--ignore", "persistence-off,no-replicas")
	require.Zero(t, code)
	var report doctor.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Equal(t, doctor.Schema, report.Schema)
	require.Equal(t, srv.Addr, report.Server)
	require.Empty(t, report.Findings)

	code, stdout, stderr = examine("check")
	require.Equal(t, doctor.MonitorWarning, code)
	require.Regexp(t, `^REDLATCH WARNING - persistence-off \(.*\) \| errors=0;;0;0 warnings=1;0;;0 unknown=0;;;0 rtt_p99=.*\n$`, stdout)
	require.Empty(t, stderr)
}

func TestDoctorAndCheckFailByTheirOwnCodes(t *testing.T) {
	unreachable := []string{"--url", "redis://127.0.0.1:1"}
	code, stdout, _ := use(append(unreachable, "doctor")...)
	require.Equal(t, 2, code)
	require.Contains(t, stdout, "ERROR   unreachable")
	code, stdout, _ = use(append(unreachable, "check")...)
	require.Equal(t, doctor.MonitorCritical, code)
	require.True(t, strings.HasPrefix(stdout, "REDLATCH CRITICAL - unreachable"), stdout)

	code, _, stderr := use(append(unreachable, "doctor", "--ignore", "nothing")...)
	require.Equal(t, exit.Usage, code)
	require.Contains(t, stderr, `no check "nothing"`)
	code, stdout, _ = use("check", "--url", "http://nowhere")
	require.Equal(t, doctor.MonitorUnknown, code)
	require.Equal(t, 1, strings.Count(stdout, "\n"))
	code, _, _ = use("check", "-o", "json")
	require.Equal(t, exit.Usage, code)
}
