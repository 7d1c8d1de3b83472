package views

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/fleet"
)

// evil is a text that clears a terminal, moves to the first column, changes the direction, and is no UTF-8.
const evil = "x\x1b[2J\r\u202e\u009b\xff\x7f\U000e0041y"

// hostile has it wherever others choose a text.
func hostile(kind redlatch.Kind) *fleet.Report {
	at := time.UnixMilli(1764000000000)
	c := &fleet.Client{ID: evil, Host: evil, Program: evil, Label: evil, Instance: evil, Language: evil, Library: evil, Runtime: evil, Driver: evil,
		LastSeen: time.Hour, PID: 1, Seen: at}
	bad := []fleet.Unreadable{{Key: evil, Field: evil, Detail: evil}}
	holder := redlatch.Holder{Owner: evil, Side: "read", Value: evil, Holds: 1, TTL: -1}
	return &fleet.Report{At: at, Skipped: 1, Unreadable: bad, Clients: []*fleet.Client{c}, Objects: []*fleet.Object{{
		Kind: kind, Key: evil, Info: redlatch.Info{Exists: true}, Unreadable: bad,
		Holders:     []fleet.Holder{{Holder: holder, ClientID: evil, Client: c}, {Holder: holder, ClientID: evil}},
		Unconfirmed: []fleet.UnconfirmedHolder{{Client: c, Owner: evil, Holds: 1}},
		Waiting:     fleet.Waiting{Processes: []fleet.Waiter{{ClientID: evil, Client: c, Gone: true}, {ClientID: evil}}},
	}}}
}

func TestNoTextOfOthersReachesTheTerminalAsItIs(t *testing.T) {
	for _, kind := range append(fleet.Kinds(), fleet.Detect) {
		report := hostile(kind)
		ls := newLs(report, evil)
		inspect := &Inspect{Object: ls.Objects[0], Unreadable: ls.Unreadable, Clients: ls.Clients, Together: []Together{{evil, evil, evil, ""}}}
		inspect.Next = inspect.next()
		top := (&Watch{Server: evil}).frame(report)
		ls.Stale, top.Stale = evil, evil
		for _, width := range []int{0, 80, 20} {
			for _, v := range []interface {
				Lines(*terminal.Output) []string
			}{ls, inspect, top} {
				lines := v.Lines(&terminal.Output{Width: width})
				require.NotEmpty(t, lines)
				for _, line := range lines {
					requirePrintable(t, line)
				}
			}
		}
		for _, v := range []any{ls, inspect, top} {
			text, err := JSON(v, false)
			require.NoError(t, err)
			requirePrintable(t, strings.TrimSuffix(string(text), "\n"))
			var any any
			require.NoError(t, json.Unmarshal(text, &any))
		}
		text, err := JSON(ls, true)
		require.NoError(t, err)
		var back struct{ Objects []map[string]any }
		require.NoError(t, json.Unmarshal(text, &back))
		exactly, err := base64.StdEncoding.DecodeString(back.Objects[0]["name_base64"].(string))
		require.NoError(t, err)
		require.Equal(t, evil, string(exactly))
		require.Equal(t, strings.ToValidUTF8(evil, "\ufffd"), back.Objects[0]["name"])
	}
}

func requirePrintable(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		require.True(t, strconv.IsPrint(r), "%q", text)
	}
}
