package doctor

import "context"

var persistenceChecks = []*Check{
	{
		ID: "persistence-off", Level: Warn, Page: "operating.md#single-server",
		Means: "The server keeps nothing on disk: after a restart every lock is free, and permits and tokens are lost.",
		Do:    "Set appendonly to yes, or start the server again no sooner than after the longest lease.",
		look: func(ctx context.Context, n *node) answer {
			aof, err := n.info(ctx, "aof_enabled")
			if err != nil {
				return isUnknown(err)
			}
			if aof == "1" {
				return isFine()
			}
			save, err := n.setting(ctx, "save")
			if err != nil {
				return isUnknown(err)
			}
			return foundIf(save == "", "appendonly is no, and save is empty")
		},
	},
	{
		ID: "persistence-fails", Level: Warn, Page: "operating.md#single-server",
		Means: "The server could not write what it is to keep.",
		Do:    "Look into the server's log, and at its disk: space, rights, folder.",
		look: func(ctx context.Context, n *node) answer {
			for _, field := range []string{"rdb_last_bgsave_status", "aof_last_write_status", "aof_last_bgrewrite_status"} {
				status, err := n.info(ctx, field)
				if err != nil {
					return isUnknown(err)
				}
				if status != "ok" {
					return isFound("%s is %s", field, oneLine(status))
				}
			}
			return isFine()
		},
	},
	{
		ID: "fsync-never", Level: Warn, Page: "operating.md#single-server",
		Means: "The server leaves it to the system when the AOF comes to the disk, which may take half a minute.",
		Do:    "Set appendfsync to everysec or always.",
		look:  func(ctx context.Context, n *node) answer { return n.ofAOF(ctx, "appendfsync", "no") },
	},
	{
		ID: "fsync-on-rewrite", Level: Warn, Page: "operating.md#single-server",
		Means: "While the AOF is rewritten nothing is brought to the disk for sure.",
		Do:    "Set no-appendfsync-on-rewrite to no.",
		look:  func(ctx context.Context, n *node) answer { return n.ofAOF(ctx, "no-appendfsync-on-rewrite", "yes") },
	},
	{
		ID: "fsync-everysec", Level: Info, Page: "operating.md#single-server",
		Means: "If the machine fails, the writes of its last one or two seconds are lost.",
		Do:    "Set appendfsync to always where a token or a guarded write must never be forgotten; else leave it.",
		look:  func(ctx context.Context, n *node) answer { return n.ofAOF(ctx, "appendfsync", "everysec") },
	},
}

// ofAOF finds a setting of the AOF that has this value.
func (n *node) ofAOF(ctx context.Context, setting, wrong string) answer {
	aof, err := n.info(ctx, "aof_enabled")
	if err != nil {
		return isUnknown(err)
	}
	if aof != "1" {
		return isBeside("there is no AOF")
	}
	value, err := n.setting(ctx, setting)
	if err != nil {
		return isUnknown(err)
	}
	return foundIf(value == wrong, "%s is %s", setting, value)
}
