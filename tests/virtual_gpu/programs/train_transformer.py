"""torch's own Transformer, in mixed precision with a scaled loss, checkpointed and not."""
import torch
from torch.utils.checkpoint import checkpoint

layers = torch.nn.ModuleList(
    torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True) for _ in range(6)
).cuda()
whole = torch.nn.Transformer(64, 4, 1, 1, 128, batch_first=True).cuda()
optimizer = torch.optim.AdamW([*layers.parameters(), *whole.parameters()])
scaler = torch.amp.GradScaler()
peaks = []
for is_checkpointed in (False, True):
    torch.cuda.reset_peak_memory_stats()
    x = torch.rand(8, 256, 256, device="cuda")
    with torch.autocast("cuda", torch.float16):
        for layer in layers:
            x = checkpoint(layer, x, use_reentrant=False) if is_checkpointed else layer(x)
        short = torch.rand(2, 8, 64, device="cuda")
        loss = x.square().mean() + whole(short, short).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    peaks.append(torch.cuda.max_memory_allocated())
print(*peaks)
