"""transformers under Accelerate's FSDP2, as its documentation has it: prepare, backward, gather metrics.

Started by torchrun or `accelerate launch`.
"""

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from torch.utils.data import DataLoader
from transformers import LlamaConfig, LlamaForCausalLM, get_linear_schedule_with_warmup


def main() -> None:
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2,
        auto_wrap_policy="transformer_based_wrap",
        transformer_cls_names_to_wrap=["LlamaDecoderLayer"],
        reshard_after_forward=True,
    )
    accelerator = Accelerator(
        mixed_precision="bf16", gradient_accumulation_steps=2, fsdp_plugin=plugin
    )
    shape = LlamaConfig(
        hidden_size=512, intermediate_size=1408, num_hidden_layers=4, num_attention_heads=8,
        num_key_value_heads=4, vocab_size=8192,
    )  # fmt: skip
    model = LlamaForCausalLM(shape)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(0, 8192, (16, 128))]
    loader = DataLoader(rows, batch_size=2, shuffle=True)
    schedule = get_linear_schedule_with_warmup(optimizer, 1, 8)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses = accelerator.gather_for_metrics(loss.detach().repeat(2))
        accelerator.print(f"loss {losses.mean().item():.3f} of {len(losses)}")
    accelerator.wait_for_everyone()
    state = accelerator.get_state_dict(model)
    accelerator.print(f"{len(state)} tensors in the state")
    accelerator.end_training()


if __name__ == "__main__":
    main()
