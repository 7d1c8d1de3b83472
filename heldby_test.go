package redlatch_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

func TestAHolderInALineSaysWhatIsKnown(t *testing.T) {
	line := func(h redlatch.HeldBy) string {
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "holder", h)
		_, attrs, _ := strings.Cut(log.String(), "msg=x ")
		return strings.TrimSpace(attrs)
	}
	require.Equal(t, "holder.owner=u:1", line(redlatch.HeldBy{Holder: redlatch.Holder{Owner: "u:1"}}))
	now := time.Now()
	require.Regexp(t, "^holder.owner=u:1 holder.host=web-3 holder.pid=17 holder.program=billing holder.label=blue "+
		"holder.held=1h0m[0-9.]+m?s holder.seen=1m[0-9.]+m?s holder.member=m holder.side=read holder.value=v holder.own=true$", line(redlatch.HeldBy{
		Holder: redlatch.Holder{Owner: "u:1", Side: "read", Value: "v", Own: true, Since: now.Add(-time.Hour)},
		Member: "m", Host: "web-3", PID: 17, Program: "billing", Label: "blue", Seen: now.Add(-time.Minute),
	}))
}
