"""What works on finished runs: try, export, transfer, realism, compare, gate, leaderboard."""
